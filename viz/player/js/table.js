// The numbers of this step as a table, for those who cannot see the picture, or want to copy it.

const TABLE_ORDER = [
  'block_max',
  'm_part',
  'l_part',
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
  't',
  't_sum',
  'delta',
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
    if (model.isTiles) {
      for (const [name, value] of tileTableRows(words, latest)) row(name, value);
      return;
    }
    if (step.block !== null)
      row(words.say(model.hasPrograms ? 'player.programs' : 'player.blocks'), String(step.block));
    row(words.say('player.pass_head'), String(step.pass + 1));
    row(words.say('player.phase_head'), phaseName(words, model, step.phase));
    for (const [name, values] of Object.entries(model.rows))
      row(name, Array.from(values.subarray(step.start, step.stop), formatScore).join(', '));
    for (const name of [...TABLE_ORDER, ...(TABLE_ORDER.includes(model.output) ? [] : [model.output])]) {
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

/** A grid's step as [name, value] rows: vectors whole, of matrices the row that is followed. */
function tileTableRows(words, view) {
  const { model, step, state, chosen, index } = view;
  const out = [
    [words.say('player.place_head'), tilePlace(words, view)],
    [words.say('player.pass_head'), String(step.pass + 1)],
    [words.say('player.phase_head'), phaseName(words, model, step.phase)],
    [words.say('player.row_head'), String(rowNumber(view, chosen.m))],
  ];
  for (const [name, value] of Object.entries(state)) {
    const list = isMatrix(value) ? project(model, name, value, chosen) : value;
    out.push([name, isMatrixRow(list) ? Array.from(list, formatSum).join(', ') : formatSum(list)]);
  }
  for (const [side, groups] of Object.entries(model.reads))
    for (const { tensors, lists } of groups) {
      const counts = lists.map((list) => `${countDone(list, index)}/${list.length}`);
      out.push([
        words.say(`player.reads_${side}`, { tensors: tensors.map(tensorLabel).join(' ') }),
        counts.join(', '),
      ]);
    }
  const amounts = { done: sumOf(view.moved), total: sumOf(model.traffic.this) };
  out.push(['HBM', words.say('player.of', amounts)]);
  return out;
}
