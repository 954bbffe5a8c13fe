// The steps of a grid as ticks: a group a program, a foot line a tile, a line of its own per pass.

const TILE_TICK = 4.2; // px: with less, a visit has one tick, but for the one that runs
const VISIT_TICK = 3.6; // px: with less, a program has one tick, but for the one that runs
const LOOSE = 7;
const PROGRAM_HEAD = 14;
const FOOT = 6;
const TICK_PITCH = 30; // px from one pass's line to the next

function tileTicksHeight(model, isPhone) {
  const n = isPhone ? 1 : model.passes.length; // a phone shows the running pass alone
  return PROGRAM_HEAD + 10 + TICK_PITCH * (n - 1) + FOOT + (isPhone ? 8 : 20);
}

/** A program as it is called over its ticks: Q5, K3, 1,2 or, for a split, s2. */
function programLabel({ grid }, { kind, row, col, split }) {
  if (kind === 'tile') return `${row},${col}`;
  if (kind === 'col') return `${grid.colLetter}${col}`;
  if (kind === 'split')
    return grid.tileRows > 1 ? `${grid.rowLetter}${row}\u00b7${split}` : `s${split}`;
  return `${grid.rowLetter}${row}`;
}

function makeTileTicks(svgNode, width, isPhone, model, words, onSeek) {
  const gutter = isPhone ? 0 : 54;
  const height = tileTicksHeight(model, isPhone);
  const place = (pass) => (isPhone ? 0 : model.passes.findIndex(({ index }) => index === pass));
  const lineY = (pass) => PROGRAM_HEAD + 10 + TICK_PITCH * place(pass);
  const tint = svg(svgNode, 'rect', { class: 'bwp-tint', height: FOOT + 22 });
  drawTileTickHeads(svgNode, model, words, lineY, isPhone);
  const labels = makeProgramLabels(svgNode, model, lineY, isPhone);
  const spans = programSpans(model, gutter, width);
  const places = makeTileTickPlaces(model, spans, isPhone);
  let shownPass = 0;
  const marks = makeTickMarks(svgNode, model, places, lineY);
  const feet = ['bwp-foot-next', 'bwp-foot-done', 'bwp-foot-now'].map((name) =>
    svg(svgNode, 'path', { class: name }),
  );
  const playhead = makePlayhead(svgNode, { isPhone, width }, model, words, height);
  listenForDrag(svgNode, (event) => {
    const box = svgNode.getBoundingClientRect();
    const unit = box.width / width;
    const y = (event.clientY - box.top) / unit;
    const distance = (pass) => Math.abs(lineY(pass.index) - y);
    const pass = model.passes.reduce((a, b) => (distance(b) < distance(a) ? b : a));
    onSeek(places.nearest((event.clientX - box.left) / unit, isPhone ? shownPass : pass.index));
  });
  return {
    height,
    set(view) {
      shownPass = view.step.pass;
      places.spread(view);
      const [x, y] = [places.of(view.index), lineY(view.step.pass)];
      const [from, to] = places.ends(view.visit);
      put(tint, { x: from - 5, y: y - 11, width: to - from + 10 });
      drawFeet(view);
      marks.set(view, x, y, TICK_PITCH);
      playhead.set(view, x, y);
      labels(view, spans);
      return [];
    },
    move() {},
  };

  /** A line under the sub-steps of each tile, so that tiles can be counted. */
  function drawFeet({ index, visit }) {
    const paths = ['', '', ''];
    for (const [one, from, to] of places.feet()) {
      const y = lineY(one.pass) + FOOT + 2;
      const state = one === visit ? 2 : one.last < index ? 1 : 0;
      paths[state] += `M${round(from)} ${y}H${round(to)}`;
    }
    feet.forEach((node, i) => put(node, { d: paths[i] }));
  }
}

function drawTileTickHeads(parent, model, words, lineY, isPhone) {
  if (isPhone) return;
  const isOne = model.passes.length === 1;
  for (const { index } of model.passes) {
    svg(parent, 'text', {
      class: isOne ? 'bwp-head' : 'bwp-axis',
      x: 0,
      y: lineY(index) + 5,
      text: isOne ? words.say('player.steps') : words.say('player.pass', { pass: index + 1 }),
    });
  }
}

/** The span of every program on its pass's line: as wide as it has ticks. */
function programSpans(model, left, width) {
  const spans = new Map();
  const right = width - 8;
  for (const { programs } of model.passes) {
    const weights = programs.map(programWeight);
    const total = weights.reduce((sum, weight) => sum + weight, 0);
    // A run of few steps is not drawn out over the whole width.
    const unit = Math.min((right - left) / total, 13);
    let x = left;
    programs.forEach((program, i) => {
      spans.set(program, { x, width: unit * weights[i], unit });
      x += unit * weights[i];
    });
  }
  return spans;
}

const VISIT_AIR = 0.9; // of a tick, between two tiles
const PROGRAM_AIR = 1.6;

function programWeight({ visits }) {
  const steps = visits.reduce((sum, { first, last }) => sum + last - first + 1, 0);
  return steps + VISIT_AIR * (visits.length - 1) + PROGRAM_AIR;
}

/** The programs' names over their groups, as many as there is room for. */
function makeProgramLabels(parent, model, lineY, isOneLine) {
  const pool = makePool(parent, (g) => svg(g, 'text'));
  return ({ program }, spans) => {
    const list = [];
    for (const { programs } of model.passes) {
      const ofPass = programs.includes(program) ? program : null;
      if (isOneLine && !ofPass) continue;
      let free = -Infinity;
      const mine = ofPass && spans.get(ofPass);
      for (const one of programs) {
        const { x, width } = spans.get(one);
        const needed = monoWidth(programLabel(model, one), 13) + 8;
        const isNow = one === program;
        const hits = mine && !isNow && x < mine.x + needed && x + needed > mine.x;
        if (!isNow && (x < free || hits)) continue;
        list.push({ one, x: Math.min(x, x + width), isNow });
        free = x + needed;
      }
    }
    pool.fit(list, (node, { one, x, isNow }) => {
      put(node, {
        x,
        y: lineY(one.pass) - 10.5,
        class: isNow ? 'bwp-program bwp-block-now' : 'bwp-program',
      });
      setText(node, programLabel(model, one));
    });
  };
}
