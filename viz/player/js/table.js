// The numbers of this step as a table, for those who cannot see the picture, or want to copy it.

const TABLE_ORDER = [
  'block_max',
  'm',
  'm_new',
  'alpha',
  'l',
  'p_sum',
  'p',
  'pv_sum',
  'acc',
  'o',
  'lse',
  'y',
];

function makeTable(host, words) {
  const details = html(host, 'details', 'bwp-as-text');
  html(details, 'summary', '', words.say('player.as_text'));
  const table = html(details, 'table');
  const body = html(table, 'tbody');
  let latest = null;

  const row = (name, value) => {
    const tr = html(body, 'tr');
    const head = html(tr, 'th', '', name);
    head.scope = 'row';
    html(tr, 'td', '', value);
  };

  const draw = () => {
    if (!latest || !details.open) return;
    const { model, step, state } = latest;
    body.replaceChildren();
    if (step.block !== null) row(words.say('player.blocks'), String(step.block));
    row(words.say('player.pass_head'), String(step.pass + 1));
    row(words.say('player.phase_head'), phaseName(words, model, step.phase));
    row('x', Array.from(model.x.subarray(step.start, step.stop), formatScore).join(', '));
    for (const name of TABLE_ORDER) {
      const value = state[name];
      if (value === undefined) continue;
      const { format } = variable(name);
      row(name, Array.isArray(value) ? value.map(format).join(', ') : format(value));
    }
    row(
      'HBM',
      words.say('player.of', { done: sumOf(latest.moved), total: sumOf(model.traffic.this) }),
    );
  };
  details.addEventListener('toggle', draw);
  return {
    set(view) {
      latest = view;
      draw();
    },
  };
}
