// The real kernel's source, the lines of the running phase lit and their symbols coloured.

const SYMBOLS = /\b(m_new|block_max|m_part|l_part|alpha|acc|lse|delta|dx|m|l|p|o|t|x|y|z)\b/g;

const ANY = 'any'; // the mark of a line that stands for every phase of its pass

function isRunBy({ phase, pass }, step) {
  return pass === step.pass && (phase === step.phase || phase === ANY);
}

function makeSource(host, model, words) {
  const { file, lines } = model.source;
  const box = html(host, 'div', 'bwp-code');
  box.tabIndex = 0;
  box.setAttribute('role', 'region');
  box.setAttribute('aria-label', file);
  if (!lines.length) html(box, 'p', 'bwp-note-line', words.say('player.no_source'));
  let run = ''; // a comment between two lines of a phase does not end its run
  const rows = lines.map(([number, code, phase, pass]) => {
    const node = html(box, 'div', 'bwp-code-line');
    html(node, 'span', 'bwp-code-number', String(number));
    const text = html(node, 'code');
    if (phase && run !== `${phase} ${pass}`) {
      run = `${phase} ${pass}`;
      const name =
        phase === ANY
          ? passName(words, model, pass)
          : phaseName(words, model, phase);
      html(text, 'span', 'bwp-code-phase', name);
    }
    text.style.setProperty('--bw-indent', `${code.search(/\S|$/)}ch`);
    appendCode(text, code, model);
    return { node, phase, pass };
  });
  let windows = null;
  let place = null;
  let frame = 0;
  let lit = '';
  new ResizeObserver(() => {
    windows = null;
    place = null;
    if (lit) scrollTo(lit);
  }).observe(box);

  return {
    set({ step }) {
      const key = `${step.phase} ${step.pass}`;
      if (key !== lit) {
        lit = key;
        for (const row of rows) row.node.classList.toggle('bwp-lit', isRunBy(row, step));
      }
      scrollTo(key);
    },
  };

  /** Scrolling makes the page lay itself out, so it waits for the frame in which it does anyway. */
  function scrollTo(key) {
    cancelAnimationFrame(frame);
    const found = () => windows.get(key) ?? windows.get(`${ANY} ${key.split(' ')[1]}`) ?? place;
    if (windows && found() === place) return;
    frame = requestAnimationFrame(() => {
      windows ||= findWindows(box, rows);
      place = found();
      if (place !== null) box.scrollTop = place;
    });
  }
}

function appendCode(node, code, model) {
  let rest = 0;
  const comment = code.indexOf('#');
  for (const match of code.matchAll(SYMBOLS)) {
    if (comment >= 0 && match.index > comment) break;
    node.append(code.slice(rest, match.index));
    const { kind } = variableOf(model, match[0]);
    html(node, 'span', `bwp-k-${kind === 'alpha' ? 'strong' : kind}`, match[0]);
    rest = match.index + match[0].length;
  }
  const end = comment < 0 ? code.length : comment;
  node.append(code.slice(rest, end));
  if (comment < 0) return;
  const isWhole = code.slice(0, comment).trim() === '';
  html(node, 'span', isWhole ? 'bwp-comment' : 'bwp-comment bwp-comment-tail', code.slice(comment));
}

/**
 * Where the box stands for each phase. Phases that fit into the box together share one place, so
 * that the text does not move from sub-step to sub-step.
 */
function findWindows(box, rows) {
  const height = box.clientHeight;
  const spans = new Map();
  rows.forEach(({ node, phase, pass }) => {
    if (!phase) return;
    const key = `${phase} ${pass}`;
    const [top, bottom] = [node.offsetTop, node.offsetTop + node.offsetHeight];
    const span = spans.get(key) || { key, top, bottom };
    span.bottom = Math.max(span.bottom, bottom);
    spans.set(key, span);
  });
  const tops = new Map();
  let group = [];
  const close = () => {
    if (!group.length) return;
    const [top, bottom] = [group[0].top, group[group.length - 1].bottom];
    const at = Math.max(0, top - Math.max(0, height - (bottom - top)) / 2);
    for (const { key } of group) tops.set(key, Math.round(at));
  };
  for (const span of [...spans.values()].sort((a, b) => a.top - b.top)) {
    if (group.length && span.bottom - group[0].top > height) {
      close();
      group = [];
    }
    group.push(span);
  }
  close();
  return tops;
}
