// A canvas under a drawing, for what has thousands of cells: each a rectangle of one colour's ink.

const NEGATIVE_EDGE = 0.24; // of a cell: a negative value is drawn as its outline
const SQUARES_FROM = 7; // px: in smaller cells a square's size could not be read
const SHAPES_FROM = 4; // px: in smaller cells no shape could: strength alone is shown
const STRENGTH_POWER = 0.4; // small values stay visible beside the largest

/** How strong the ink of a share from 0 to 1 is, in 1024 steps: powers are slow. */
const STRENGTHS = Float64Array.from({ length: 1025 }, (_, i) => (i / 1024) ** STRENGTH_POWER);

const colours = new Map();

/** The colour of a token, in the theme that the page now has. */
function inkColour(token) {
  if (!colours.has(token)) {
    const value = getComputedStyle(root).getPropertyValue(`--bw-${token}`);
    colours.set(token, value.trim());
  }
  return colours.get(token);
}

/** Call `act` when the page changes its theme: what is painted does not follow by itself. */
function listenForTheme(act) {
  const observer = new MutationObserver(() => {
    const before = colours.get('page');
    colours.clear();
    if (before !== undefined && inkColour('page') !== before) act();
  });
  for (const node of [document.documentElement, document.body])
    observer.observe(node, { attributes: true, attributeFilter: ['class'] });
}

/** A canvas that lies under the drawing of `host`, in the same units. */
function makeCanvas(host, width, height, unit) {
  const canvas = html(null, 'canvas', 'bwp-ink');
  const density = window.devicePixelRatio || 1;
  const ratio = unit * density;
  canvas.width = Math.ceil(width * ratio);
  canvas.height = Math.ceil(height * ratio);
  canvas.style.width = `${canvas.width / density}px`;
  canvas.style.height = `${canvas.height / density}px`;
  canvas.dataset.ratio = ratio;
  host.prepend(canvas);
  inkColour('page');
  return makePainterOf(canvas.getContext('2d'), ratio);
}

/** What can be painted: all edges lie on whole pixels, so that neighbours leave no seam. */
function makePainterOf(context, ratio) {
  const pixel = (v) => Math.round(v * ratio);
  let token = 'ink';
  const box = (x, y, w, h) => {
    const [left, top] = [pixel(x), pixel(y)];
    return [left, top, pixel(x + w) - left, pixel(y + h) - top];
  };
  return {
    colour(name) {
      token = name;
      context.fillStyle = inkColour(name);
    },
    clear(x, y, w, h) {
      context.clearRect(...box(x, y, w, h));
    },
    fill(x, y, w, h, opacity) {
      context.globalAlpha = opacity;
      context.fillRect(...box(x, y, w, h));
    },
    /** The outline of a rectangle, inside it: how a negative value is drawn. */
    ring(x, y, w, h, opacity) {
      const [left, top, width, height] = box(x, y, w, h);
      const edge = Math.max(1, Math.round(Math.min(width, height) * NEGATIVE_EDGE));
      context.globalAlpha = opacity;
      context.fillRect(left, top, width, edge);
      context.fillRect(left, top + height - edge, width, edge);
      context.fillRect(left, top + edge, edge, height - 2 * edge);
      context.fillRect(left + width - edge, top + edge, edge, height - 2 * edge);
    },
    /** A cross, for what is not a number. */
    cross(x, y, w, h) {
      context.globalAlpha = 1;
      context.strokeStyle = inkColour('error');
      context.lineWidth = Math.max(1, ratio);
      context.beginPath();
      for (const [from, to] of [
        [0.2, 0.8],
        [0.8, 0.2],
      ]) {
        context.moveTo(pixel(x + w * from), pixel(y + h * 0.2));
        context.lineTo(pixel(x + w * to), pixel(y + h * 0.8));
      }
      context.stroke();
    },
    /** A block of cells without gaps at once: `strengthAt(i, j)` from 0 to 1 for each. */
    image(x, y, w, h, rows, columns, strengthAt) {
      const scratch = scratchOf(rows, columns);
      const pixels = scratch.context.createImageData(columns, rows);
      const [red, green, blue] = channels(inkColour(token));
      let at = 0;
      for (let i = 0; i < rows; i += 1)
        for (let j = 0; j < columns; j += 1, at += 4) {
          pixels.data[at] = red;
          pixels.data[at + 1] = green;
          pixels.data[at + 2] = blue;
          pixels.data[at + 3] = 255 * strengthAt(i, j);
        }
      scratch.context.putImageData(pixels, 0, 0);
      context.globalAlpha = 1;
      context.imageSmoothingEnabled = false;
      context.drawImage(scratch.canvas, 0, 0, columns, rows, ...box(x, y, w, h));
    },
  };
}

let scratchCanvas = null;

function scratchOf(rows, columns) {
  scratchCanvas ||= document.createElement('canvas');
  scratchCanvas.width = columns;
  scratchCanvas.height = rows;
  return { canvas: scratchCanvas, context: scratchCanvas.getContext('2d') };
}

/** The channels of a token's colour, "#rrggbb". */
function channels(colour) {
  return [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16));
}

/** How strong the ink of a value is, from 0 to 1; 0 for what is not a number. */
function inkStrength(value, largestValue) {
  const share = Math.abs(value) / largestValue;
  return share >= 1 ? 1 : STRENGTHS[(share * 1024) | 0];
}

/** Ink one cell: filled if positive, its outline if negative, a cross if it is not a number. */
function inkCell(canvas, x, y, w, h, value, largestValue, strongest = 1) {
  if (Number.isNaN(value)) {
    canvas.cross(x, y, w, h);
    return;
  }
  const strength = inkStrength(value, largestValue) * strongest;
  if (strength < 0.02) return;
  if (value > 0 || Math.min(w, h) < SHAPES_FROM) canvas.fill(x, y, w, h, strength);
  else canvas.ring(x, y, w, h, strength);
}

/** One cell as a square: its area is the size, filled if positive, its outline if negative. */
function squareCell(canvas, x, y, w, h, value, largestValue, strength) {
  if (Math.min(w, h) < SQUARES_FROM || Number.isNaN(value)) {
    inkCell(canvas, x, y, w, h, value, largestValue, strength);
    return;
  }
  const side = Math.min(w, h) * Math.sqrt(Math.min(1, Math.abs(value) / largestValue));
  if (side < 0.5) return;
  const box = [x + (w - side) / 2, y + (h - side) / 2, side, side, strength];
  if (value > 0) canvas.fill(...box);
  else canvas.ring(...box);
}

/**
 * A block of cells that touch each other: as one image where no cell needs a shape of its own,
 * because nothing is negative or nothing could be seen; else cell by cell. NaN is crossed.
 */
function inkBlock(canvas, { x, y, w, h, rows, columns, valueOf, isSigned, largest, strength = 1 }) {
  if (!rows || !columns) return;
  const isFine = Math.min(w, h) < SHAPES_FROM;
  if (isSigned && !isFine) {
    for (let i = 0; i < rows; i += 1)
      for (let j = 0; j < columns; j += 1)
        squareCell(canvas, x + j * w, y + i * h, w, h, unmasked(valueOf(i, j)), largest, strength);
    return;
  }
  const wrong = [];
  canvas.image(x, y, columns * w, rows * h, rows, columns, (i, j) => {
    const value = valueOf(i, j);
    if (Number.isNaN(value)) wrong.push([i, j]);
    return Number.isFinite(value) ? inkStrength(value, largest) * strength : 0;
  });
  for (const [i, j] of wrong) canvas.cross(x + j * w, y + i * h, w, h);
}

/** A masked score has no size; a NaN stays one. */
function unmasked(value) {
  return Math.abs(value) === Infinity ? 0 : value;
}
