// The block numbers, and the column of the current block lit through every panel.

const PHONE_LIFT = 18; // px: on a phone a panel's name stands this far above it

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
  const { ruler, head, chip, isPhone } = layout;
  const printed = (text, x, y) => svg(parent, 'text', { class: 'bwp-axis', x, y, text });
  if (!isPhone) {
    printed(words.say(model.hasPrograms ? 'player.programs' : 'player.blocks'), 0, 17);
    // Over the box: beside the block numbers, or beside the panel that it belongs to.
    if (chip) printed(words.say('player.on_chip'), chip.x, Math.max(17, chip.top - 9));
  }
  const cap = svg(parent, 'rect', { class: 'bwp-cap', y: head, height: 3 });
  const pool = makePool(parent, (g) =>
    svg(g, 'text', { class: 'bwp-block', y: head + 18, 'text-anchor': 'middle' }),
  );
  const nameOf = programNames(ruler, model);
  const width = monoWidth(nameOf(ruler.nBlocks - 1), 14) + 8;
  const dead = makeDeadLanes(parent, layout, model, words);
  return {
    set({ step }) {
      show(cap, step.block !== null);
      if (step.block !== null) put(cap, ruler.lit(step.block));
      dead(step);
      pool.fit(labelledBlocks(ruler, step.block, width), (node, b) => {
        put(node, {
          x: ruler.center(b),
          class: b === step.block ? 'bwp-block bwp-block-now' : 'bwp-block',
        });
        setText(node, nameOf(b));
      });
    },
  };
}

/** What stands over a block: its number, and that it is a program's where there is room for it. */
function programNames(ruler, { hasPrograms }) {
  const isRoomy = ruler.column > monoWidth(`pid ${ruler.nBlocks - 1}`, 14) + 8;
  return (b) => (hasPrograms && isRoomy ? `pid ${b}` : String(b));
}

/** The last block's lanes past the end of the row: hatched through all panels, never loaded. */
function makeDeadLanes(parent, layout, model, words) {
  const { ruler } = layout;
  const [from, to] = ruler.dead;
  if (from === to) return () => {};
  const [left, right] = [ruler.x(from), ruler.x(to - 1) + ruler.bar];
  const places = Object.values(layout.panels).filter(Boolean);
  const first = places[0].strips ? places[0].strips[0] : places[0];
  const [top, bottom] = [first.top, places[places.length - 1].bottom];
  svg(parent, 'rect', {
    class: 'bwp-dead',
    'data-testid': 'dead-lanes',
    x: left,
    y: top,
    width: right - left,
    height: bottom - top,
    fill: hatching(parent, 'bwp-hatch-dead', 6),
  });
  const lanes = words.say('player.lanes_off', { lanes: words.count('lanes', to - from) });
  const isRoomy = sansWidth(lanes, 13) + 8 < right - left;
  const text = isRoomy ? lanes : words.say('player.lanes_off_short', { n: to - from });
  const half = sansWidth(text, 13) / 2 + 2;
  const label = svg(parent, 'text', {
    class: 'bwp-dead-text',
    x: Math.min((left + right) / 2, ruler.right - half),
    y: first.bottom - 6,
    'text-anchor': 'middle',
    text,
  });
  return ({ block }) => {
    const isNow = block === ruler.nBlocks - 1;
    put(label, { class: isNow ? 'bwp-dead-text bwp-dead-now' : 'bwp-dead-text' });
  };
}

/** A panel's name, its symbol, and its axis lines with their numbers. */
function makeHead(parent, layout, panel, { name, symbol, kind, notes = [] }) {
  if (layout.isPhone) {
    const y = name.isFirst ? 18 : panel.top - (panel.lift || PHONE_LIFT);
    const head = svg(parent, 'text', { class: 'bwp-head', x: 0, y, text: name.text });
    svg(head, 'tspan', {
      class: `bwp-mono bwp-f-${kind}`,
      dx: 8,
      text: notes.length ? `${symbol} = ${notes.join(' ')}` : symbol,
    });
    return;
  }
  const lines = name.text.split('\n');
  lines.forEach((text, i) =>
    svg(parent, 'text', { class: 'bwp-head', x: 0, y: panel.top + 12 + 18 * i, text }),
  );
  let y = panel.top + 12 + 18 * lines.length;
  svg(parent, 'text', { class: `bwp-symbol bwp-f-${kind}`, x: 0, y, text: symbol });
  if (layout.isLow) {
    if (notes.length !== 1) return; // half of an expression would say something else
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
