// Where everything stands: one ruler for all panels, and the height that each panel gets.

const MAX_BAR = 44;
const LABELS_HEIGHT = 84; // px: the names and notes of the p·V panel
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
  wide: { ruler: 26, head: 14, scores: 122, bracket: 34, weights: 88, gap: 24, row: 42, outputs: 96 },
  compact: { ruler: 22, head: 20, scores: 122, bracket: 28, weights: 88, gap: 14, row: 42, outputs: 96 },
  stacked: { ruler: 24, head: 14, scores: 92, bracket: 32, weights: 62, gap: 16, row: 24, outputs: 62 },
  brief: { ruler: 22, head: 20, scores: 92, bracket: 28, weights: 62, gap: 12, row: 24, outputs: 62 },
  lecture: { ruler: 26, head: 14, scores: 122, bracket: 30, weights: 88, gap: 18, row: 42, outputs: 96 },
  phone: { ruler: 24, head: 14, scores: 132, bracket: 60, weights: 104, gap: 58, row: 32, outputs: 96 },
};

const FLEXIBLE = ['scores', 'weights', 'row', 'outputs'];

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
  const heights = scaledHeights(kind, factor);
  const isLow = kind === 'compact' || kind === 'brief';
  const narrow = width < 720;
  const gutter = isPhone ? 30 : narrow ? 92 : 98;
  const chipWidth = isPhone ? width : narrow ? 148 : 160;
  const chipGap = narrow ? 20 : 32;
  const rulerWidth = isPhone ? width - gutter : width - gutter - chipWidth - chipGap;
  const ruler = makeRuler({
    left: gutter,
    width: rulerWidth,
    n: model.n,
    block: model.block,
    gap: isPhone ? 6 : 10,
  });
  const layout = {
    kind,
    isPhone,
    isLow,
    width,
    heights,
    gutter,
    ruler,
    head: isPhone ? PHONE_HEAD : 0,
    panels: {},
  };
  let y = heights.ruler + layout.head;
  const place = (name, before, height) => {
    layout.panels[name] = { top: y + before, height, bottom: y + before + height };
    y += before + height;
  };
  place('scores', heights.head, heights.scores);
  if (model.panels.includes('weights')) place('weights', heights.bracket, heights.weights);
  if (model.panels.includes('weighted_values') && !isPhone) {
    layout.row = rowHeight(heights, model.headDim);
    place('weighted_values', heights.gap, layout.row * model.headDim);
  }
  const chipBottom = y + 12;
  if (model.panels.includes('outputs'))
    place('outputs', heights.gap + (isPhone ? 0 : 10), heights.outputs);
  if (isPhone) {
    layout.row = Math.min(heights.row, (heights.row * 4) / Math.max(model.headDim, 1));
    layout.chip = { x: 0, width, top: y + 20, bottom: y + 20 + phoneChipHeight(model, layout.row) };
    y = layout.chip.bottom;
  } else {
    layout.chip = {
      x: ruler.right + chipGap,
      width: chipWidth,
      top: heights.ruler,
      bottom: chipBottom,
    };
    y = Math.max(y, chipBottom);
  }
  layout.height = y + (isLow ? 2 : 6);
  return layout;
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
