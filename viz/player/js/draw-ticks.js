// The steps as ticks under their own blocks, a line per pass; a diamond is a rescale below 1.

const TIGHT = 5; // px: below this, sub-steps are drawn for the current block only
const SPREAD = 9;
const TICK_LINE = 23; // px from one pass's line to the next

function passesOf(model) {
  return [...new Set(model.steps.map((step) => step.pass))];
}

function ticksHeight(model) {
  return 48 + TICK_LINE * (passesOf(model).length - 1);
}

/** The ticks of one figure. `onSeek(index)` is told where the pointer goes. */
function makeTicks(svgNode, layout, model, words, onSeek) {
  const { isPhone } = layout;
  const passes = passesOf(model);
  const lineHeight = isPhone ? 20 : TICK_LINE;
  const top = isPhone ? 34 : 16;
  const height = isPhone ? top + lineHeight * (passes.length - 1) + 16 : ticksHeight(model);
  const lineY = (pass) => top + lineHeight * passes.indexOf(pass);
  const lightColumn = makeColumn(svgNode, layout.ruler, 0, height - (isPhone ? 0 : 4));
  drawTickHeads(svgNode, layout, model, words, passes, lineY);
  const numbers = isPhone ? makeTickNumbers(svgNode, layout.ruler) : null;
  const places = makeTickPlaces(layout, model);
  const marks = makeTickMarks(svgNode, model, places, lineY);
  const playhead = makePlayhead(svgNode, layout, model, words, height);
  listenForDrag(svgNode, (event) => {
    const box = svgNode.getBoundingClientRect();
    const unit = box.width / layout.width;
    const x = (event.clientX - box.left) / unit;
    const y = (event.clientY - box.top) / unit;
    const distance = (pass) => Math.abs(lineY(pass) - y);
    onSeek(
      places.nearest(
        x,
        passes.reduce((a, b) => (distance(b) < distance(a) ? b : a)),
      ),
    );
  });
  return {
    height,
    set(view) {
      lightColumn(view.step);
      places.spread(view);
      const [x, y] = [places.of(view.index), lineY(view.step.pass)];
      marks.set(view, x, y, lineHeight);
      playhead.set(view, x, y);
      if (numbers) numbers(view.step.block);
      return [];
    },
    move() {},
  };
}

/** On a phone the ticks stand far from the figure, so they carry block numbers of their own. */
function makeTickNumbers(parent, ruler) {
  const pool = makePool(parent, (g) => svg(g, 'text', { y: 14, 'text-anchor': 'middle' }));
  const width = monoWidth(String(ruler.nBlocks - 1), 14) + 8;
  return (current) =>
    pool.fit(labelledBlocks(ruler, current, width), (node, b) => {
      const className = b === current ? 'bwp-block bwp-block-now' : 'bwp-block';
      put(node, { x: ruler.center(b), class: className });
      setText(node, String(b));
    });
}

/**
 * All ticks twice, as to come and as done; a clip lets the done ones show up to the playhead. So a
 * step moves two rectangles, however many ticks there are.
 */
function makeTickMarks(parent, model, places, lineY) {
  const rescales = new Set(model.rises);
  const id = `bwp-done-${(patternCount += 1)}`;
  const clip = svg(svg(parent, 'defs'), 'clipPath', { id });
  const [above, line] = [svg(clip, 'rect'), svg(clip, 'rect')];
  const done = svg(null, 'g', { 'clip-path': `url(#${id})` });
  const dots = (host, className, size) =>
    svg(host, 'path', { class: className, style: `stroke-width: ${size}px` });
  const open = [
    dots(parent, 'bwp-dot bwp-s-ink-3', places.dot),
    dots(parent, 'bwp-dot bwp-s-page', places.dot - 2.4),
  ];
  const openDiamonds = svg(parent, 'path', { class: 'bwp-diamond-open' });
  parent.append(done);
  const doneGround = svg(done, 'path', { class: 'bwp-diamond-ground' });
  const doneDots = dots(done, 'bwp-dot bwp-s-ink-2', places.dot);
  const doneDiamonds = svg(done, 'path', { class: 'bwp-diamond' });
  let drawn = null;

  const draw = () => {
    let [round_, square] = ['', ''];
    for (const { first, last, x } of places.all()) {
      const y = lineY(model.steps[first].pass);
      let isRescale = false;
      for (let i = first; i <= last && !isRescale; i += 1) isRescale = rescales.has(i);
      if (isRescale) square += diamondPath(x, y, places.diamond);
      else round_ += `M${round(x)} ${y}h0`;
    }
    for (const node of [...open, doneDots]) put(node, { d: round_ });
    for (const node of [openDiamonds, doneDiamonds, doneGround]) put(node, { d: square });
  };

  return {
    set(view, x, y, lineHeight) {
      if (drawn !== places.version()) {
        drawn = places.version();
        draw();
      }
      const half = lineHeight / 2;
      put(above, { x: -20, y: -20, width: 4000, height: y - half + 20 });
      put(line, { x: -20, y: y - half, width: Math.max(0, x + 20), height: lineHeight });
    },
  };
}

/** The ring on the current tick, and the sub-step's name under it. */
function makePlayhead(parent, layout, model, words, height) {
  const rescales = new Set(model.rises);
  const ring = svg(parent, 'circle', { class: 'bwp-playhead', r: 9.5 });
  const mark = svg(parent, 'path');
  const name = svg(parent, 'text', {
    class: 'bwp-phase-now',
    y: height - 6,
    'text-anchor': 'middle',
    'data-testid': 'phase-now',
  });
  show(name, !layout.isPhone);
  return {
    set({ index, step }, x, y) {
      put(ring, { cx: x, cy: y });
      if (rescales.has(index)) put(mark, { d: diamondPath(x, y, 6), class: 'bwp-diamond' });
      else put(mark, { d: `M${round(x)} ${y}h0`, class: 'bwp-dot bwp-s-ink' });
      const text = phaseName(words, model, step.phase);
      const half = sansWidth(text, 14) / 2 + 4;
      put(name, { x: Math.max(half, Math.min(layout.width - half, x)) });
      setText(name, text);
    },
  };
}

function diamondPath(x, y, r) {
  return `M${round(x)} ${round(y - r)}l${r} ${r}l${-r} ${r}l${-r} ${-r}z`;
}

function drawTickHeads(parent, layout, model, words, passes, lineY) {
  const { ruler, isPhone } = layout;
  if (isPhone) return;
  svg(parent, 'text', {
    class: 'bwp-head',
    x: 0,
    y: lineY(passes[0]) + 5,
    text: words.say('player.steps'),
  });
  if (passes.length > 1) {
    for (const pass of passes) {
      const text = passName(words, model, pass);
      svg(parent, 'text', {
        class: 'bwp-axis',
        x: ruler.left - 8,
        y: lineY(pass) + 4.5,
        'text-anchor': 'end',
        text,
      });
    }
  }
  const rowVisit = model.visits.find((visit) => visit.block === null);
  if (!rowVisit) return;
  const phases = model.steps
    .slice(rowVisit.first, rowVisit.last + 1)
    .map((step) => phaseName(words, model, step.phase));
  const x = layout.chip.x + 14 + 17 * phases.length;
  svg(parent, 'text', {
    class: 'bwp-axis',
    x,
    y: lineY(passes[0]) + 4.5,
    text: phases.join(words.say('player.then')),
  });
}

/** Where each tick stands. With little room the current block spreads over its neighbours. */
function makeTickPlaces(layout, model) {
  const { ruler } = layout;
  const rowX = layout.isPhone || !layout.chip ? ruler.right + 6 : layout.chip.x + 8;
  const rowStep = layout.isPhone ? 11 : 17;
  const lengthOf = ({ first, last }) => last - first + 1;
  const spacing =
    (ruler.column - ruler.gap) /
    Math.max(...model.visits.map((v) => (v.block === null ? 1 : lengthOf(v))));
  const isTight = spacing < TIGHT;
  let spreadVisit = null;

  const inside = (visit, s) => {
    const length = lengthOf(visit);
    if (visit.block === null) return rowX + s * rowStep;
    if (!isTight)
      return (
        ruler.col(visit.block) + ruler.gap / 2 + ((s + 0.5) / length) * (ruler.column - ruler.gap)
      );
    const half = (SPREAD * (length - 1)) / 2;
    const middle = Math.max(
      ruler.left + half,
      Math.min(ruler.right - half, ruler.center(visit.block)),
    );
    return middle - half + s * SPREAD;
  };
  const of = (index) => {
    const visit = model.visits[model.visitOf[index]];
    return inside(visit, index - visit.first);
  };
  const whole = (visit) => ({ first: visit.first, last: visit.last, x: ruler.center(visit.block) });

  /** Whether a block's one tick lies where the current block has spread to. */
  const isUnderSpread = (visit, x) => {
    if (!spreadVisit || visit.pass !== spreadVisit.pass) return false;
    const reach = SPREAD * 0.8;
    const [first, last] = [inside(spreadVisit, 0), inside(spreadVisit, lengthOf(spreadVisit) - 1)];
    return x > first - reach && x < last + reach;
  };

  return {
    // Marks shrink with their distance, so that a row of them never becomes a bar.
    dot: isTight ? 5 : Math.min(7, spacing * 0.8),
    diamond: isTight
      ? Math.max(2.5, Math.min(5.5, ruler.column * 0.45))
      : Math.min(6, spacing * 0.8),
    of,
    spread(view) {
      spreadVisit = isTight && view.step.block !== null ? view.visit : null;
    },
    /** What `all` depends on: it changes only where blocks spread. */
    version: () => (spreadVisit ? spreadVisit.first : -1),
    all() {
      const ticks = [];
      for (const visit of model.visits) {
        if (isTight && visit.block !== null && visit !== spreadVisit) {
          const tick = whole(visit);
          if (!isUnderSpread(visit, tick.x)) ticks.push(tick);
          continue;
        }
        for (let i = visit.first; i <= visit.last; i += 1)
          ticks.push({ first: i, last: i, x: of(i) });
      }
      return ticks;
    },
    /** The step nearest to `x` on a pass's line. */
    nearest(x, pass) {
      let best = 0;
      let least = Infinity;
      for (const visit of model.visits) {
        if (visit.pass !== pass) continue;
        const isWhole = isTight && visit.block !== null && visit !== spreadVisit;
        for (let i = visit.first; i <= (isWhole ? visit.first : visit.last); i += 1) {
          const distance = Math.abs((isWhole ? ruler.center(visit.block) : of(i)) - x);
          if (distance < least) [best, least] = [i, distance];
        }
      }
      return best;
    },
  };
}

/** Report the pointer from press to release. */
function listenForDrag(node, report) {
  node.addEventListener('pointerdown', (event) => {
    if (event.button !== 0) return;
    node.setPointerCapture(event.pointerId);
    report(event);
  });
  node.addEventListener('pointermove', (event) => {
    if (node.hasPointerCapture(event.pointerId)) report(event);
  });
}
