// Where everything stands: one ruler for all panels, and the height that each panel gets.

const MAX_BAR = 44;
const LABELS_HEIGHT = 84; // px: the names and notes of the p·V panel
const CHIP_HEIGHT = 74; // px: a number, its bar and what it was
const PHONE_HEAD = 30; // px: the first panel's name stands over the block numbers
const THIN = 4; // px: below this pitch squares and single bars cannot be told apart

/** The horizontal axis that scores, weights, history and ticks share. */
function makeRuler({ left, width, n, block, gap: wanted }) {
  const nBlocks = Math.ceil(n / block);
  const column = width / nBlocks;
  const gap = Math.min(wanted, column * 0.2);
  const pitch = (column - gap) / block;
  const bar = Math.min(pitch * 0.8, MAX_BAR);
  const col = (b) => left + b * column;
  return {
    left,
    width,
    right: left + width,
    n,
    nBlocks,
    block,
    column,
    gap,
    pitch,
    bar,
    col,
    center: (b) => col(b) + column / 2,
    /** The lanes of the last block that are past the end of the row, [first, last + 1]. */
    dead: [n, nBlocks * block],
    /** The left edge of bar `j`. */
    x(j) {
      const b = Math.floor(j / block);
      return col(b) + gap / 2 + (j - b * block) * pitch + (pitch - bar) / 2;
    },
    /** Where column `b` is lit: never so thin that it is lost. */
    lit(b) {
      const lit = Math.max(column, 4);
      return { x: col(b) + column / 2 - lit / 2, width: lit };
    },
  };
}

const HEIGHTS = {
  wide: { ruler: 26, head: 14, scores: 122, bracket: 34, weights: 88, gap: 24, row: 42, outputs: 96, strip: 74 },
  compact: { ruler: 22, head: 20, scores: 122, bracket: 28, weights: 88, gap: 14, row: 42, outputs: 96, strip: 74 },
  stacked: { ruler: 24, head: 14, scores: 92, bracket: 32, weights: 62, gap: 16, row: 24, outputs: 62, strip: 50 },
  brief: { ruler: 22, head: 20, scores: 92, bracket: 28, weights: 62, gap: 12, row: 24, outputs: 62, strip: 50 },
  lecture: { ruler: 26, head: 14, scores: 122, bracket: 30, weights: 88, gap: 18, row: 42, outputs: 96, strip: 74 },
  phone: { ruler: 24, head: 14, scores: 132, bracket: 60, weights: 104, gap: 42, row: 32, outputs: 96, strip: 92 },
};

const FLEXIBLE = ['scores', 'weights', 'row', 'outputs', 'strip'];

/** Stretch or squeeze what holds data, so that a figure fills the screen it is shown on. */
function scaledHeights(kind, factor) {
  const heights = { ...HEIGHTS[kind] };
  for (const name of FLEXIBLE) heights[name] = Math.round(heights[name] * factor);
  return heights;
}

/** The height of one output column's line in the p·V panel. */
function rowHeight(heights, headDim) {
  const room = heights.row * (headDim > 8 ? 4.6 : 4);
  return Math.max(9, LABELS_HEIGHT / headDim, Math.min(heights.row * 1.1, room / headDim));
}

/** Return the places of all panels for a figure `width` px wide (in its own units). */
function makeLayout(model, { width, kind, factor }) {
  const isPhone = kind === 'phone';
  const isPair = kind === 'stacked' || kind === 'brief';
  const narrow = width < 720;
  const keepsState = model.on_chip.length > 0;
  const gutter = isPhone ? 30 : narrow ? 92 : 98;
  const chipWidth = isPhone ? width : narrow ? 148 : 160;
  const chipGap = narrow ? 20 : 32;
  // Of two figures that share a ruler, one that keeps nothing leaves the box's room empty.
  const side = isPhone || !(keepsState || isPair) ? 0 : chipWidth + chipGap;
  const ruler = makeRuler({
    left: gutter,
    width: width - gutter - side,
    n: model.n,
    block: model.block,
    gap: isPhone ? 6 : 10,
  });
  const layout = {
    kind,
    isPhone,
    isLow: kind === 'compact' || kind === 'brief',
    width,
    heights: scaledHeights(kind, factor),
    gutter,
    ruler,
    head: isPhone ? PHONE_HEAD : 0,
  };
  let y = placePanels(layout, model);
  layout.chip = keepsState ? placeChip(layout, model, { y, width: chipWidth, gap: chipGap }) : null;
  if (layout.chip) y = isPhone ? layout.chip.bottom : Math.max(y, layout.chip.bottom);
  layout.height = y + (layout.isLow ? 2 : 6);
  return layout;
}

/** Give every panel its place, from top to bottom; return where the last one ends. */
function placePanels(layout, model) {
  const { heights, isPhone } = layout;
  let y = heights.ruler + layout.head;
  layout.panels = {};
  const place = (before, height) => {
    const top = y + (y === heights.ruler + layout.head ? heights.head : before);
    y = top + height;
    return { top, height, bottom: y };
  };
  const placers = {
    scores: () => place(heights.head, heights.scores),
    // On a phone the bracket of a rescale stands between the panel's name and its bars.
    weights: () => ({ ...place(heights.bracket, heights.weights), lift: 36 }),
    weighted_values() {
      if (isPhone) return null;
      layout.row = rowHeight(heights, model.headDim);
      return place(heights.gap, layout.row * model.headDim);
    },
    operands() {
      // Rows that share their axis with the outputs are as high as they are.
      const height = model.ranges.rows[model.output] ? heights.outputs : heights.strip;
      const strips = model.operands.map((name) => ({ name, ...place(heights.gap, height) }));
      return { strips, bottom: y };
    },
    products: () => place(heights.gap, heights.strip),
    outputs: () => place(heights.gap + (isPhone ? 0 : 10), heights.outputs),
  };
  for (const name of model.panels) layout.panels[name] = placers[name]();
  return y;
}

/** The box beside the panels whose state it holds; on a phone it stands below them all. */
function placeChip(layout, model, { y, width, gap }) {
  const { heights, ruler, panels, isPhone } = layout;
  if (isPhone) {
    layout.row = Math.min(heights.row, (heights.row * 4) / Math.max(model.headDim, 1));
    const top = y + 20;
    return { x: 0, width, top, bottom: top + phoneChipHeight(model, layout.row) };
  }
  const place = { x: ruler.right + gap, width };
  if (panels.products) {
    const { top, bottom } = panels.products;
    return { ...place, top: top - 8, bottom: Math.max(bottom + 8, top + CHIP_HEIGHT) };
  }
  const last = panels.weighted_values || panels.weights;
  return { ...place, top: heights.ruler, bottom: last.bottom + 12 };
}

/** On a phone the chip box stands below the panels: m, l and its bar, then a line per output. */
function phoneChipHeight(model, row) {
  const outputs = model.on_chip.includes('acc') ? 8 + row * model.headDim : 0;
  return (model.hasMax ? 140 : 108) + outputs;
}

/** A linear scale from [low, high] to [bottom, top]. */
function makeScale(low, high, bottom, top) {
  const factor = (top - bottom) / (high - low);
  return (value) => bottom + (Math.max(low, Math.min(high, value)) - low) * factor;
}

/** About `count` round numbers within [low, high]; two at least, or an axis says nothing. */
function niceTicks(low, high, count) {
  const raw = (high - low) / count;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 2.5, 5, 10].map((k) => k * power).find((k) => k >= raw);
  const ticks = [];
  for (let k = Math.ceil(low / step - 1e-9); k * step <= high + step * 1e-6; k += 1) {
    ticks.push(Number((k * step).toPrecision(12)));
  }
  return ticks.length < 2 && count < 8 ? niceTicks(low, high, count + 1) : ticks;
}
