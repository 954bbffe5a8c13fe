// The outputs of the rows of a tile: a square for each column, standing on its line or hanging.

const THIN_ROW = 4; // px: below it an output is ink, since no square could be seen

/** The outputs of each row: a square per column, its area the size, above the line if positive. */
function makeOutputSquares(parent, columns, model, canvas) {
  const { x: left, width } = columns.outputs;
  const { headDim } = model;
  const pitch = width / headDim;
  const axis = svg(parent, 'path', { class: 'bwp-hair-line' });
  const was = svg(parent, 'path', { class: 'bwp-outline bwp-s-o', 'data-testid': 'rows-o-were' });
  const rest = svg(parent, 'path', { class: 'bwp-p-o-rest' });
  const now = svg(parent, 'path', { class: 'bwp-p-o', 'data-testid': 'rows-o-now' });
  const crosses = svg(parent, 'path', { class: 'bwp-cross' });
  let moving = [];

  const square = (line, d, value) => {
    if (line.h < THIN_ROW || !Number.isFinite(value) || value === 0) return '';
    const largestSide = Math.min(pitch * 0.95, Math.max(1.2, line.h / 2 - 0.5));
    const side = largestSide * Math.sqrt(Math.min(1, Math.abs(value) / model.ranges.acc));
    if (side < 0.3) return '';
    const middle = ROWS_HEAD + line.y + line.h / 2;
    return barPath(
      left + (d + 0.5) * pitch - side / 2,
      side,
      middle,
      middle - Math.sign(value) * side,
    );
  };
  const path = (line, values, from) => {
    let d = '';
    for (let k = 0; k < headDim; k += 1) d += square(line, k, values[from + k]);
    return d;
  };

  return {
    set(view, lines) {
      const { state, before, step, shrinks } = view;
      const [values, old] = [outputOf(state), outputOf(before)];
      const isWhole = step.phase === 'accumulate' || step.phase === 'normalize';
      let [outline, line_, crossed] = ['', '', ''];
      const flat = [];
      moving = lines.map((line, i) => {
        const isMoving = isWhole || (shrinks && step.values.alpha[i] !== 1 && before.l[i] !== 0);
        const middle = ROWS_HEAD + line.y + line.h / 2;
        if (line.h >= 8) line_ += `M${left} ${round(middle)}h${round(width)}`;
        if (isMoving) outline += path(line, old[i], 0);
        values[i].forEach((value, d) => {
          flat.push(value);
          if (Number.isNaN(value))
            crossed += crossPath(left + (d + 0.5) * pitch, middle, Math.min(4, line.h / 4));
        });
        return isMoving;
      });
      put(axis, { d: line_ });
      put(was, { d: outline });
      put(crosses, { d: crossed });
      inkThinRows(values, lines);
      return flat;
    },
    move(flat, lines) {
      let [resting, saturated] = ['', ''];
      lines.forEach((line, i) => {
        const d = path(line, flat, i * headDim);
        if (moving[i]) saturated += d;
        else resting += d;
      });
      put(rest, { d: resting });
      put(now, { d: saturated });
    },
  };

  /** Rows too thin for squares are inked: their strength alone is shown. */
  function inkThinRows(values, lines) {
    if (!canvas) return;
    canvas.clear(left, 0, width, 4000);
    for (const { from, to } of evenRuns(lines)) {
      const { y, h } = lines[from];
      if (h >= THIN_ROW) continue;
      canvas.colour(moving[from] ? 'o' : 'o-rest');
      const block = {
        x: left,
        y: ROWS_HEAD + y,
        w: pitch,
        h,
        rows: to - from + 1,
        columns: headDim,
      };
      const valueOf = (i, d) => values[from + i][d];
      inkBlock(canvas, { ...block, largest: model.ranges.acc, isSigned: true, valueOf });
    }
  }
}

/** What stands in the output's column: the finished output, a split's part, or the sum so far. */
function outputOf(state) {
  return state.o || state.o_part || state.acc;
}
