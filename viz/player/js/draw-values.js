// The weighted values p·V: a line per output column, a square per element, its area the size.

function makeValuesPanel(parent, layout, model, words) {
  const panel = layout.panels.weighted_values;
  const { ruler, row } = layout;
  const isThin = ruler.pitch < THIN;
  makeHead(parent, layout, panel, {
    name: { text: words.say('player.weighted_values') },
    symbol: 'p \u00b7 V',
    kind: 'o',
  });
  const noteY = panel.top + 12 + 18 * words.say('player.weighted_values').split('\n').length + 20;
  words
    .say(isThin ? 'player.height_is_size' : 'player.area_is_size')
    .split('\n')
    .forEach((text, i) =>
      svg(parent, 'text', { class: 'bwp-axis', x: 0, y: noteY + 16 * i, text }),
    );
  const lineY = (d) => panel.top + (d + 0.5) * row;
  for (let d = 0; d < model.headDim; d += 1) {
    const y = lineY(d);
    svg(parent, 'line', { class: 'bwp-hair', x1: ruler.left, x2: ruler.right, y1: y, y2: y });
    const isLabelled = row >= 14 || d === 0 || d === model.headDim - 1;
    if (isLabelled)
      svg(parent, 'text', {
        class: 'bwp-tick',
        x: ruler.left - 8,
        y: y + 4.5,
        'text-anchor': 'end',
        text: String(d),
      });
  }
  const outline = svg(parent, 'path', {
    class: 'bwp-outline bwp-s-o',
    'data-testid': 'values-were',
  });
  const restPath = svg(parent, 'path', { class: 'bwp-p-o-rest', 'data-testid': 'values-rest' });
  const nowPath = svg(parent, 'path', { class: 'bwp-p-o', 'data-testid': 'values-now' });
  const crosses = svg(parent, 'path', { class: 'bwp-cross' });
  // A large square may reach over its neighbours' margins: in the hall, size is what is read.
  const largestSide = Math.min(1.25 * ruler.pitch, row / 2 - 0.5);
  let moving = NONE;
  let drawn = {};

  /** The square of one element, standing on its line if positive and hanging from it if not. */
  const mark = (j, d, product) => {
    const size = Math.min(1, Math.abs(product) / model.ranges.product);
    const height = isThin ? size * (row / 2 - 0.5) : Math.sqrt(size) * largestSide;
    if (!(height > 0.2)) return '';
    const width = isThin ? ruler.bar : height;
    const x = ruler.x(j) + (ruler.bar - width) / 2;
    const y = lineY(d);
    return barPath(x, width, y, product > 0 ? y - height : y + height);
  };
  const path = (weights, from, to) => {
    let marks = '';
    for (let j = from; j < to; j += 1) {
      for (let d = 0; d < model.headDim; d += 1) {
        const product = weights[j] * model.v[j][d];
        if (Number.isFinite(product)) marks += mark(j, d, product);
      }
    }
    return marks;
  };
  const crossed = (weights) => {
    const arm = Math.min(4, Math.max(1.5, Math.min(ruler.pitch, row) / 2 - 1));
    let d = '';
    weights.forEach((weight, j) => {
      if (Number.isFinite(weight)) return;
      for (let k = 0; k < model.headDim; k += 1)
        d += crossPath(ruler.x(j) + ruler.bar / 2, lineY(k), arm);
    });
    return d;
  };
  return {
    set(view) {
      moving = view.fresh || (view.shrinks ? [0, view.step.start] : NONE);
      put(outline, {
        d: view.weightsWere ? path(view.weightsWere, 0, view.weightsWere.length) : '',
      });
      put(crosses, { d: crossed(view.weights) });
      return view.weights;
    },
    move(weights) {
      if (drawn.weights === weights && String(drawn.moving) === String(moving)) return;
      drawn = { weights, moving };
      put(restPath, { d: path(weights, 0, moving[0]) + path(weights, moving[1], weights.length) });
      put(nowPath, { d: path(weights, ...moving) });
    },
  };
}
