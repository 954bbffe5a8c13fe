// The block numbers, and the column of the current block lit through every panel.

/** The lit column of one drawing: the tint, drawn first so that everything lies over it. */
function makeColumn(parent, ruler, top, bottom) {
  const tint = svg(parent, 'rect', { class: 'bwp-tint', y: top, height: bottom - top });
  return (step) => {
    show(tint, step.block !== null);
    if (step.block !== null) put(tint, ruler.lit(step.block));
  };
}

/** Which blocks get a printed number when there is no room for all: evenly, the current first. */
function labelledBlocks(ruler, current, width) {
  const every = Math.ceil(width / ruler.column);
  const blocks = [];
  for (let b = 0; b < ruler.nBlocks; b += every) {
    if (current === null || b === current || Math.abs(b - current) >= every) blocks.push(b);
  }
  if (current !== null && current % every) blocks.push(current);
  return blocks;
}

function makeRulerPanel(parent, layout, model, words) {
  const { ruler } = layout;
  const { head } = layout;
  if (!layout.isPhone) {
    svg(parent, 'text', { class: 'bwp-axis', x: 0, y: 17, text: words.say('player.blocks') });
    svg(parent, 'text', {
      class: 'bwp-axis',
      x: layout.chip.x,
      y: 17,
      text: words.say('player.on_chip'),
    });
  }
  const cap = svg(parent, 'rect', { class: 'bwp-cap', y: head, height: 3 });
  const pool = makePool(parent, (g) =>
    svg(g, 'text', { class: 'bwp-block', y: head + 18, 'text-anchor': 'middle' }),
  );
  const width = monoWidth(String(model.nBlocks - 1), 14) + 8;
  return {
    set({ step }) {
      show(cap, step.block !== null);
      if (step.block !== null) put(cap, ruler.lit(step.block));
      pool.fit(labelledBlocks(ruler, step.block, width), (node, b) => {
        put(node, {
          x: ruler.center(b),
          class: b === step.block ? 'bwp-block bwp-block-now' : 'bwp-block',
        });
        setText(node, String(b));
      });
    },
  };
}

/** A panel's name, its symbol, and its axis lines with their numbers. */
function makeHead(parent, layout, panel, { name, symbol, kind, notes = [] }) {
  if (layout.isPhone) {
    const y = name.isFirst ? 18 : panel.top - 36;
    const head = svg(parent, 'text', { class: 'bwp-head', x: 0, y, text: name.text });
    svg(head, 'tspan', {
      class: `bwp-mono bwp-f-${kind}`,
      dx: 8,
      text: [symbol, ...notes].join(' = '),
    });
    return;
  }
  const lines = name.text.split('\n');
  lines.forEach((text, i) =>
    svg(parent, 'text', { class: 'bwp-head', x: 0, y: panel.top + 12 + 18 * i, text }),
  );
  let y = panel.top + 12 + 18 * lines.length;
  svg(parent, 'text', { class: `bwp-symbol bwp-f-${kind}`, x: 0, y, text: symbol });
  if (layout.isLow && notes.length) {
    const x = monoWidth(symbol, 14.5) + 6;
    svg(parent, 'text', { class: `bwp-note bwp-f-${kind}`, x, y, text: notes[0] });
    return;
  }
  for (const note of notes) {
    y += 17;
    svg(parent, 'text', { class: `bwp-note bwp-f-${kind}`, x: 0, y, text: note });
  }
}

function makeAxis(parent, layout, scale, ticks) {
  const { ruler } = layout;
  for (const tick of ticks) {
    const y = scale(tick);
    const kind = tick === 0 ? 'bwp-zero' : 'bwp-hair';
    svg(parent, 'line', { class: kind, x1: ruler.left, x2: ruler.right, y1: y, y2: y });
    svg(parent, 'text', {
      class: 'bwp-tick',
      x: ruler.left - 8,
      y: y + 4.5,
      'text-anchor': 'end',
      text: formatAxis(tick),
    });
  }
}

/** Group neighbours: [[first, last], …] of the columns for which `test` holds. */
function runsOf(n, test) {
  const runs = [];
  for (let j = 0; j < n; j += 1) {
    if (!test(j)) continue;
    const last = runs[runs.length - 1];
    if (last && last[1] === j - 1) last[1] = j;
    else runs.push([j, j]);
  }
  return runs;
}
