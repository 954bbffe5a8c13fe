// The ink of the grid's cells, on a canvas: only tiles that a step has changed are painted anew.

const NOW_GROUND = 0.34; // of the focus colour, under the tile that runs

/** The hue of each inked variable: weights, scores and their gradients, outputs. */
function inkToken(name) {
  return { p: 'l', acc: 'o', c: 'o' }[name] || 'ink-2';
}

function makePainter(canvas, places, model) {
  const { grid } = model;
  const largest = Object.fromEntries(model.inkNames.map((name) => [name, largestInk(model, name)]));
  const painted = new Array(model.births.length).fill('');
  let band = null;

  const paintTile = (number, ink, isBand, isNow) => {
    const tile = [Math.floor(number / grid.tileCols), number % grid.tileCols];
    const { x, y, width, height } = places.box(tile);
    canvas.clear(x, y, width, height);
    if (isBand && !model.isSkipped[number]) {
      canvas.colour('focus-tint');
      canvas.fill(x, y, width, height, 1);
    }
    if (isNow) {
      canvas.colour('focus');
      canvas.fill(x, y, width, height, NOW_GROUND);
    }
    if (!ink) return;
    canvas.colour(inkToken(ink.name));
    const factors = inkFactors(ink);
    const [top, bottom] = grid.rowSpan(tile[0]);
    const [left, right] = grid.colSpan(tile[1]);
    inkBlock(canvas, {
      x,
      y,
      ...places.cell,
      rows: bottom - top,
      columns: right - left,
      isSigned: ink.name !== 'p',
      largest: largest[ink.name],
      valueOf: (i, j) => {
        if (!isSeen(model, top + i, left + j)) return 0;
        return ink.values[i][ink.left + j] * (factors ? factors[i] : 1);
      },
    });
  };

  /** The labels' gutter beside the lit row, or above the lit column, carries its tint too. */
  const paintBand = (key, view) => {
    if (key === band || places.operands) return;
    band = key;
    canvas.clear(0, places.top - 1, places.left - 1, places.bottom - places.top + 2);
    canvas.clear(places.left - 1, 0, places.right - places.left + 2, places.top - 1);
    if (view.program.kind === 'tile') return;
    canvas.colour('focus-tint');
    if (view.program.row !== null) {
      const { y, height } = places.box([view.program.row, 0]);
      canvas.fill(0, y, places.left - 1, height, 1);
    } else if (view.program.col !== null) {
      const { x, width } = places.box([0, view.program.col]);
      canvas.fill(x, 0, width, places.top - 1, 1);
    }
  };

  return (view) => {
    const { program, index, tile } = view;
    const isLit = ({ row, col }) =>
      program.kind !== 'tile' && (program.row !== null ? row === program.row : col === program.col);
    paintBand(`${program.kind} ${program.row} ${program.col}`, view);
    const isWaiting = tile && !hasInkNow(view);
    for (let number = 0; number < painted.length; number += 1) {
      const [row, col] = [Math.floor(number / grid.tileCols), number % grid.tileCols];
      const ink = tileInk(model, number, index);
      const isNow = Boolean(isWaiting) && tile[0] === row && tile[1] === col;
      const isBand = isLit({ row, col });
      const key = `${ink ? ink.key : ''} ${isBand} ${isNow}`;
      if (key === painted[number]) continue;
      painted[number] = key;
      paintTile(number, isNow && !ink ? null : ink, isBand, isNow);
    }
  };
}

/** Whether this visit has already inked its tile. */
function hasInkNow({ model, since, visit }) {
  return model.inkNames.some((name) => since[name] >= visit.first);
}

/** What the strongest ink stands for: 1 for a weight, else the largest value of the whole run. */
function largestInk(model, name) {
  return name === 'p' ? 1 : model.ranges.of(name);
}
