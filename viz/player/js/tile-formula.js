// The formula of a grid with numbers: those of the row that is followed, products term by term.

/** The states around step `at`, as numbers of the row that is followed. */
function followedAround(view, at, isRunning) {
  const { model, chosen } = view;
  const there = tileViewAt(model, at, { ...chosen });
  return {
    model,
    view: there,
    step: model.steps[at],
    after: projected(model, there.state, chosen),
    before: projected(model, there.before, chosen),
    isActing: isRunning && model.isRise.has(at) && model.states[at].alpha[chosen.m] !== 1,
  };
}

/** A token of an expression that names a matrix: its variable, and whether it is transposed. */
function matrixToken(model, token) {
  const isTransposed = token.endsWith('\u1d40');
  const word = isTransposed ? token.slice(0, -1) : token;
  const name = [word, word.toLowerCase()].find(
    (one) => (model.axes[one] || '').length === 2 || isGrid(model.arrays[one]),
  );
  return name ? { name, token, isTransposed } : null;
}

function isGrid(array) {
  return isMatrix(array);
}

const PRODUCT = /([A-Za-z_]+\u1d40?) \u00b7 ([A-Za-z_]+\u1d40?)/;

/** The first product of two matrices in an expression, if there is one. */
function productIn(model, expression) {
  const bare = expression.replace(/[{}]/g, '');
  let rest = 0;
  while (rest < bare.length) {
    const match = bare.slice(rest).match(PRODUCT);
    if (!match) return null;
    const [left, right] = [matrixToken(model, match[1]), matrixToken(model, match[2])];
    if (left && right) return { text: match[0], left, right };
    rest += match.index + 1;
  }
  return null;
}

/** The first term of the product that the followed element is a sum of. */
function productTerms(view, { left, right }, isSum) {
  const { chosen, model } = view;
  const parts = right.name === 'o_part' && !view.state.o_part;
  const a = matrixOf(view, left.name);
  const b = parts ? null : matrixOf(view, right.name);
  if (parts && a) return partTerms(view, a);
  if (!a || !b || !a.length || !b.length) return null;
  /** The element whose index along `axis` is the followed one, and the first along the other. */
  const followed = (matrix, { name, isTransposed }, side) => {
    const letters = [...model.axes[name]];
    const at = isTransposed ? 1 - side : side;
    const place = [0, 0];
    place[at] = Math.min(chosen[letters[at]] || 0, (at ? matrix[0].length : matrix.length) - 1);
    return matrix[place[0]][place[1]];
  };
  const x = followed(a, left, 0);
  // A sum over a row takes the same row of both; a product, a row of one and a column of the other.
  const y = followed(b, right, isSum ? 0 : 1);
  const kind = (name) => ({ kind: variable(name).kind });
  return [
    { text: '(' },
    { text: formatNarrow(x, 2), ...kind(left.name) },
    { text: ' \u00d7 ' },
    { text: formatNarrow(y, 2), ...kind(right.name) },
    { text: ' + \u2026)' },
  ];
}

/** The first part that a merge adds: its weight times its output. */
function partTerms(view, weight) {
  const [{ o }] = partsOfRow(view);
  return [
    { text: '(' },
    { text: formatSum(weight[view.chosen.m][0]), kind: 'l' },
    { text: ' \u00d7 ' },
    { text: o ? formatSum(o[0]) : '\u2013', kind: 'o' },
    { text: ' + \u2026)' },
  ];
}

/** What an expression says with numbers in place of its names; [] where it cannot be said short. */
function followedNumbers(line, around) {
  const { model, view, after, before } = around;
  const product = productIn(model, line.expression);
  const terms = product && productTerms(view, product, line.expression.startsWith('\u2211'));
  if (product && !terms) return [];
  const [head, tail] = product ? splitAt(line.expression, product.text) : [line.expression, ''];
  const names = { ...after, [line.target]: before[line.target] };
  const replaced = (text, printedSoFar) => replaceNames(text, names, around, printedSoFar);
  const first = replaced(head.replace(/^\u2211 $/, ''), '');
  return [...first, ...(terms || []), ...replaced(tail, terms ? ')' : '')].map((part) =>
    part.kind ? part : { ...part, text: part.text.replaceAll('\u00b7', '\u00d7') },
  );
}

function splitAt(expression, text) {
  const at = expression.indexOf(text);
  return [expression.slice(0, at), expression.slice(at + text.length)];
}

const WORD =
  /max\((s|lse_part)\)|\u2211 exp\([^)]*\)\)|\u2211 (?:p|weight)|\{(\w+)\}|\b[a-z]\w*\b/g;

/** Replace every name in a stretch of an expression by its number. */
function replaceNames(text, names, around, printedBefore) {
  const parts = [];
  let rest = 0;
  for (const match of text.matchAll(WORD)) {
    const name = match[2] || match[0];
    const found = numberFor(name, names, around, printedBefore + text.slice(0, match.index));
    if (!found) continue;
    if (match.index > rest) parts.push({ text: text.slice(rest, match.index) });
    parts.push(...found);
    rest = match.index + match[0].length;
  }
  if (rest < text.length) parts.push({ text: text.slice(rest) });
  return parts;
}

function numberFor(name, names, around, printedBefore) {
  const { model, view, isActing } = around;
  const { chosen } = view;
  if (name === 'exp') return null;
  if (name === 'scale') return [{ text: formatFactor(scaleOf(model)) }];
  if (name === 'max(lse_part)') return largestPart(view);
  if (name.startsWith('max(')) return [followedPart('m', rowMaximum(around), printedBefore)];
  if (name.startsWith('\u2211 exp')) return [followedPart('l', rowTotal(around), printedBefore)];
  if (name === '\u2211 p') return listParts('p', names.p, ' + ');
  if (name === '\u2211 weight') return listParts('weight', names.weight, ' + ');
  if (name === 'lse_part' && names.lse_part === undefined)
    return [followedPart('lse', partsOfRow(view).map(({ lse }) => lse)[0], printedBefore)];
  const value = names[name] ?? firstOf(view, name);
  if (value === undefined) return null;
  const isZeroed =
    (name === 'm_new' || name === 'lse' || name === 'lse_max') &&
    printedBefore.endsWith(`${MINUS} `);
  if (isZeroed && !Number.isFinite(value)) return [{ text: '0', kind: 'm' }];
  const one = followedOne(model, name, value, chosen);
  return [followedPart(name, one, printedBefore, isActing)];
}

/** Products of whole matrices give numbers of any digits: three decimals, a maximum's too. */
function followedPart(name, value, printedBefore, isActing = false) {
  const digits = variable(name).kind === 'alpha' ? null : formatSum;
  return numberPart(name, value, printedBefore, isActing, digits);
}

/** What the numbers of a formula depend on beside the step. */
function followedKey({ chosen }) {
  return chosen ? `${chosen.m} ${chosen.n}` : '';
}

/**
 * A formula shows what this visit computes: a tile's part of the loop, or what follows it. Where a
 * visit computes nothing, as when a program begins, all of its kernel's formula is to come.
 */
function isOfVisit(stanza, { model, visit }) {
  if (stanza.pass !== visit.pass) return false;
  const computes = (one) => phasesOf(model, visit).has(one.phase);
  return computes(stanza) || !model.stanzas.some((one) => one.pass === visit.pass && computes(one));
}

function phasesOf({ steps }, visit) {
  visit.phases ||= new Set(steps.slice(visit.first, visit.last + 1).map(({ phase }) => phase));
  return visit.phases;
}

/** The most lines that the formula of any visit ever has. */
function tileFormulaLines(model) {
  model.formulaLines ??= Math.max(
    ...model.visits.map((visit) =>
      mostLines(model.stanzas.filter((one) => isOfVisit(one, { model, visit }))),
    ),
  );
  return model.formulaLines;
}

function isMatrixRow(value) {
  return Array.isArray(value) || isVector(value);
}

function scaleOf({ headDim }) {
  return 1 / Math.sqrt(Math.max(1, headDim));
}

/** An input's number, or one that an earlier kernel left, for the row that is followed. */
function firstOf(view, name) {
  const { model, chosen } = view;
  if (!model.axes[name]) return undefined;
  const matrix = matrixOf(view, name);
  if (!matrix || !matrix.length) return undefined;
  return matrix[Math.min(chosen[model.axes[name][0]] || 0, matrix.length - 1)][0];
}

/** The maximum of a row's parts, written out. */
function largestPart(view) {
  const parts = partsOfRow(view).map(({ lse }) => lse);
  return [{ text: 'max(' }, ...listParts('lse', parts, ', '), { text: ')' }];
}

function rowMaximum({ view, after }) {
  const row = after.s || Array.from(matrixOf(view, 's')[view.chosen.m]);
  return Math.max(...row);
}

function rowTotal({ view, after }) {
  const row = after.s || Array.from(matrixOf(view, 's')[view.chosen.m]);
  const top = Math.max(...row);
  return row.reduce((sum, value) => sum + Math.exp(value - top), 0);
}

/** Of a row of numbers the one that is followed: the tile's column, or the first of another axis. */
function followedOne({ axes }, name, value, chosen) {
  if (!isMatrixRow(value)) return value;
  const at = (axes[name] || '').endsWith('n') ? chosen.n : 0;
  return value[Math.min(at, value.length - 1)];
}

/** The result of a line: a number, and whether there are more of its kind in the row. */
function followedResult({ target, expression }, { model, after, view, isActing }) {
  const value = after[target];
  if (value === undefined) return [{ text: '\u2013' }];
  const one = followedPart(target, followedOne(model, target, value, view.chosen), '', isActing);
  // A product is written out for one element.
  const isOne = !isMatrixRow(value) || value.length < 2 || productIn(model, expression);
  return isOne ? [one] : [one, { text: ', \u2026' }];
}
