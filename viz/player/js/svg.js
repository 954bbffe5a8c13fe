// Small helpers that make SVG nodes once and later touch only what changed.

const SVG = 'http://www.w3.org/2000/svg';
const MONO = 0.6; // advance of the mono font, in em

/** Create an SVG element under `parent`; attributes by name, `text` as its content. */
function svg(parent, tag, { text, ...attributes } = {}) {
  const node = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  if (text !== undefined) node.textContent = text;
  if (parent) parent.append(node);
  return node;
}

/** Create an HTML element under `parent`. */
function html(parent, tag, className = '', text = '') {
  const node = document.createElement(tag);
  if (className) node.className = className;
  if (text) node.textContent = text;
  if (parent) parent.append(node);
  return node;
}

const written = new WeakMap(); // node -> what `put` last wrote, so that only changes are written

function put(node, attributes) {
  let before = written.get(node);
  if (!before) written.set(node, (before = {}));
  for (const name in attributes) {
    const value = attributes[name];
    if (before[name] === value) continue;
    before[name] = value;
    node.setAttribute(name, typeof value === 'number' ? round(value) : value);
  }
}

function setText(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

function show(node, isShown) {
  const display = isShown ? '' : 'none';
  if (node.style.display !== display) node.style.display = display;
}

function round(value) {
  return Math.round(value * 100) / 100;
}

function monoWidth(text, size) {
  return text.length * MONO * size;
}

/** One bar as path data, from `y0` to `y1`. */
function barPath(x, width, y0, y1) {
  return `M${round(x)} ${round(y0)}V${round(y1)}h${round(width)}V${round(y0)}z`;
}

/** A cross, drawn with a stroke, for what is not a number. */
function crossPath(x, y, arm) {
  const size = 2 * arm;
  return `M${round(x - arm)} ${round(y - arm)}l${size} ${size}m0 ${-size}l${-size} ${size}`;
}

let patternCount = 0;

/** Define a diagonal hatching in a colour class; return the fill that uses it. */
function hatching(parent, className, size = 5) {
  const id = `bwp-hatch-${(patternCount += 1)}`;
  const pattern = svg(svg(parent, 'defs'), 'pattern', {
    id,
    width: size,
    height: size,
    patternUnits: 'userSpaceOnUse',
    patternTransform: 'rotate(45)',
  });
  svg(pattern, 'path', { d: `M1 0V${size}`, class: className });
  return `url(#${id})`;
}

/** The inverted chip that carries alpha: filled while it acts, outlined otherwise. */
function makeChip(parent, testid) {
  const group = svg(parent, 'g', { class: 'bwp-chip', 'data-testid': testid });
  const box = svg(group, 'rect', { rx: 4, height: 20 });
  const label = svg(group, 'text', { class: 'bwp-chip-text', 'text-anchor': 'middle' });
  return {
    group,
    /** Centre the chip on (x, y); without a text it is hidden. */
    set(text, x, y, isFilled, size = 14, height = 20) {
      show(group, text !== '');
      setText(label, text);
      if (text === '') return;
      const width = monoWidth(text, size) + (size < 13 ? 5 : size < 14 ? 10 : 14);
      put(box, { x: x - width / 2, y: y - height / 2, width, height });
      put(label, { x, y: y + 0.35 * size, style: `font-size:${size}px` });
      put(group, { class: isFilled ? 'bwp-chip' : 'bwp-chip bwp-chip-idle' });
    },
  };
}

/** Labels from a pool: as many as are asked for stand in the drawing, the rest wait outside. */
function makePool(parent, create) {
  const host = svg(parent, 'g');
  const items = [];
  return {
    /** Show one item for each entry of `list`, set by `apply(item, entry)`. */
    fit(list, apply) {
      while (items.length < list.length) items.push(create(host));
      items.forEach((item, i) => {
        const node = item.group || item;
        if (i >= list.length) node.remove();
        else if (!node.parentNode) host.append(node);
        if (i < list.length) apply(item, list[i]);
      });
    },
  };
}
