// The update formula: each phase's lines, first in symbols and then in this step's numbers.

const LIST_CHARACTERS = 16;

/** What stands in an expression without braces: what a line is about a whole block of. */
function namesIn({ rows = {} }) {
  const plain = ['scores', 'p', 'm_part', ...Object.keys(rows)].join('|');
  return new RegExp(`\\{(\\w+)\\}|\u2211 (?:p|t|l_part)\\b|\\b(?:${plain})\\b`, 'g');
}

/** What a line of a stanza says once its names are replaced, as parts. */
function expressionParts(model, expression, replace) {
  const parts = [];
  let rest = 0;
  for (const match of expression.matchAll(namesIn(model))) {
    if (match.index > rest) parts.push({ text: expression.slice(rest, match.index) });
    parts.push(...replace(match[1] || match[0], expression.slice(0, match.index)));
    rest = match.index + match[0].length;
  }
  if (rest < expression.length) parts.push({ text: expression.slice(rest) });
  return parts;
}

function symbolParts(model, expression) {
  return expressionParts(model, expression, (name) => {
    if (name === 'scores') return [{ text: name, kind: 'now' }];
    if (name.startsWith('\u2211 ')) return [{ text: name, kind: variable(name.slice(2)).kind }];
    const { symbol, kind } = variableOf(model, name);
    return [{ text: symbol, kind: kind === 'alpha' ? 'strong' : kind }];
  });
}

/** A negative number after an operator stands in brackets. */
function numberPart(name, value, printedBefore, isActing = false, digits = null) {
  const { format: usual, kind: own } = variable(name);
  const format = digits || usual;
  // The chip is filled only while alpha acts.
  const kind = name === 'alpha' && !isActing ? 'alpha-idle' : own;
  const text = format(value);
  const isBracketed = text.startsWith(MINUS) && /[+\u2212\u00b7/]\s*$/.test(printedBefore);
  return { text: isBracketed ? `(${text})` : text, kind, name };
}

/** The numbers of one line, from the states around the sub-step that ran it. */
function numberParts({ target, expression }, around) {
  const { model, step, after, before, isActing } = around;
  if (expression.endsWith('/ {l}') && after.l === 0 && !isNaNValue(after[target])) return [];
  const parts = expressionParts(model, expression, (name, printedBefore) => {
    const listed = blockParts(name, printedBefore, around);
    if (listed) return listed;
    const value = (name === target ? before : after)[name];
    const shifts =
      name === 'm_new' || (name === 'm_part' && target === 'p') || (model.hasParts && name === 'm');
    if (shifts && isShiftedByZero(model, step, value)) return [{ text: '0', kind: 'm' }];
    return [numberPart(name, Array.isArray(value) ? value[0] : value, printedBefore, isActing)];
  });
  if (expression.includes('\u2211 l_part') && model.nBlocks > 1) parts.push({ text: ' + \u2026' });
  return parts.map((part) =>
    part.kind ? part : { text: part.text.replaceAll('\u00b7', '\u00d7') },
  );
}

/** The numbers of what stands for a whole block, or for all parts of the row; null if neither. */
function blockParts(name, printedBefore, { model, step, after }) {
  const row = name === 'scores' ? model.scores : model.rows[name];
  const isList = printedBefore.endsWith('max(');
  const { m: maxima, sum: sums } = model.record;
  if (row) {
    const values = row.subarray(step.start, step.stop);
    if (isList) return listParts('block_max', values, ', ');
    const kind = name === 'scores' ? 'now' : 'ink';
    return [{ ...numberPart('block_max', values[0], printedBefore), kind }];
  }
  if (name === '\u2211 p' || name === '\u2211 t') return listParts(name[2], after[name[2]], ' + ');
  if (name === '\u2211 l_part') return [numberPart('l_part', sums[0].value, printedBefore)];
  if (name !== 'm_part' || step.phase !== 'merge') return null;
  const parts = maxima.map(({ value }) => value);
  return isList ? listParts('m_part', parts, ', ') : [numberPart('m_part', parts[0], printedBefore)];
}

/** As many of a list as fit on a line, and whether there are more. */
function listParts(name, values, separator) {
  let room = LIST_CHARACTERS;
  const shown = [];
  for (const value of values) {
    room -= variable(name).format(value).length + separator.length;
    if (room < 0 && shown.length) break;
    shown.push(value);
  }
  const parts = shown.flatMap((value, i) => [
    ...(i ? [{ text: separator }] : []),
    numberPart(name, value, separator === ' + ' && i ? '+ ' : ''),
  ]);
  return values.length > shown.length ? [...parts, { text: `${separator}\u2026` }] : parts;
}

function isNaNValue(value) {
  return Number.isNaN(Array.isArray(value) ? value[0] : value);
}

/**
 * A kernel shifts by 0 where the maximum is infinite and inf - inf would give NaN. Whether this one
 * did is seen from its weights: they are not exp(x - m_new).
 */
function isShiftedByZero(model, step, top) {
  const born = step.block === null ? null : model.record.p[step.block];
  if (Number.isFinite(top) || !born) return false;
  return born.value.some((p, lane) => {
    const plain = Math.exp(model.scores[step.start + lane] - top);
    return !Object.is(plain, p) && !(Math.abs(plain - p) <= 1e-5 * p);
  });
}

function resultParts(target, state, isActing) {
  const value = state[target];
  if (!Array.isArray(value)) return [numberPart(target, value, '', isActing)];
  return [numberPart(target, value[0], ''), { text: value.length > 1 ? ', \u2026' : '' }];
}

/** Whether a stanza runs now, ran, or is still to come; and at which step it last ran. */
function stanzaStatus(stanza, { model, index, visit, program }) {
  const runs = (step) =>
    step.phase === stanza.phase &&
    step.pass === stanza.pass &&
    (model.isTiles || step.program === visit.program);
  const from = program ? program.first : 0;
  if (runs(model.steps[index])) return { status: 'running', at: index };
  for (let i = index + 1; i <= visit.last; i += 1)
    if (runs(model.steps[i])) return { status: 'next' };
  for (let i = index; i >= from; i -= 1) if (runs(model.steps[i])) return { status: 'done', at: i };
  return { status: 'next' };
}

function makeFormula(host, model) {
  const stanzas = model.stanzas.map((stanza) => {
    const node = html(host, 'div', 'bwp-stanza');
    node.dataset.phase = stanza.phase;
    return { ...stanza, node, announced: announcedBefore(model, stanza), shown: '' };
  });
  host.style.setProperty(
    '--bw-lines',
    model.isTiles ? tileFormulaLines(model) : mostLines(stanzas),
  );

  const lineOf = (node, target, parts, className = '') => {
    const row = html(node, 'div', `bwp-line ${className}`);
    const { symbol, kind } = target ? variableOf(model, target) : { symbol: '', kind: '' };
    html(row, 'span', `bwp-target bwp-k-${kind === 'alpha' ? 'strong' : kind}`, symbol);
    html(row, 'span', 'bwp-equals', '=');
    const expression = html(row, 'span', 'bwp-expression');
    setParts(expression, parts);
    if (target) row.dataset.target = target;
  };

  const draw = (stanza, { status, at }, view) => {
    const { node } = stanza;
    node.className = `bwp-stanza bwp-${status}`;
    node.replaceChildren();
    for (const line of stanza.lines) {
      if (status === 'next') {
        if (stanza.announced.has(line.target)) continue;
        const later = line.later ? [{ text: ` ${line.later}` }] : [];
        lineOf(node, line.target, [...symbolParts(model, line.expression), ...later]);
        continue;
      }
      const { inputs, result } = lineNumbers(line, view, at, status === 'running');
      const numbers = inputs.length ? [...inputs, { text: ' =\u00a0' }, ...result] : result;
      if (status === 'done') {
        lineOf(node, line.target, numbers);
        continue;
      }
      const later = line.later ? [{ text: ` ${line.later}`, kind: 'later' }] : [];
      lineOf(node, line.target, [...symbolParts(model, line.expression), ...later]);
      lineOf(node, '', numbers, 'bwp-numbers');
    }
  };

  return {
    set(view) {
      for (const stanza of stanzas) {
        show(stanza.node, !model.isTiles || isOfVisit(stanza, view));
        const found = stanzaStatus(stanza, view);
        const key = `${found.status} ${found.at} ${followedKey(view)}`;
        if (key === stanza.shown) continue;
        stanza.shown = key;
        draw(stanza, found, view);
      }
    },
  };
}

/** The numbers of a line that ran at step `at`: what went in, and what came out. */
function lineNumbers(line, view, at, isRunning) {
  const { model } = view;
  if (model.isTiles) {
    const around = followedAround(view, at, isRunning);
    return { inputs: followedNumbers(line, around), result: followedResult(line, around) };
  }
  const around = {
    model,
    step: model.steps[at],
    after: model.states[at],
    before: model.befores[at],
    isActing: isRunning && model.rises.includes(at),
  };
  const inputs = numberParts(line, around);
  return { inputs, result: resultParts(line.target, around.after, around.isActing) };
}

/** The targets whose next line an earlier stanza of the same pass already announces as "later". */
function announcedBefore(model, stanza) {
  const earlier = model.stanzas
    .slice(0, model.stanzas.indexOf(stanza))
    .filter((other) => other.pass === stanza.pass);
  return new Set(
    earlier.flatMap(({ lines }) => lines.filter((line) => line.later).map((line) => line.target)),
  );
}

/** The most lines the panel ever has: room for them is kept, so that nothing below it jumps. */
function mostLines(stanzas) {
  const total = stanzas.reduce((sum, { lines }) => sum + lines.length, 0);
  return total + Math.max(0, ...stanzas.map(({ lines }) => lines.length));
}
