// The matrices of the running tile: each product with one factor at its left and one above it.

const AT_REST = 0.5; // of the ink: what this sub-step does not touch
const NUMBER_GROUND = 0.4; // of the ink, under a printed number

function makeMatricesPanel(parent, canvas, size, model, words, { onRow }) {
  const placesAt = makeEquationPlaces(model, size);
  const frames = makePool(parent, (g) => svg(g, 'rect'));
  const names = makePool(parent, (g) => svg(g, 'text'));
  const numbers = makePool(parent, (g) => svg(g, 'text', { 'text-anchor': 'middle' }));
  const fill = hatching(parent, 'bwp-hatch-mask', 4);
  const masked = svg(parent, 'path', { class: 'bwp-masked', fill });
  const followed = svg(parent, 'path', { class: 'bwp-element', 'data-testid': 'element' });
  const hit = svg(parent, 'rect', { class: 'bwp-hit', width: size.width, height: size.height });
  let drawn = [];
  let place = null;
  hit.addEventListener('click', (event) => {
    const box = hit.getBoundingClientRect();
    const x = ((event.clientX - box.left) / box.width) * size.width;
    const y = ((event.clientY - box.top) / box.height) * size.height;
    const found = elementUnder(model, drawn, place, x, y);
    if (found) onRow(found.m, found.n);
  });

  return {
    set(view) {
      place = placesAt(view);
      drawn = place.equations.flatMap((equation) => drawnMatrices(view, equation, place));
      canvas.clear(0, 0, size.width, size.height);
      let hatched = '';
      for (const one of drawn) hatched += paintMatrix(canvas, one, place);
      put(masked, { d: hatched });
      frames.fit(drawn, (node, { x, y, width, height, state, name }) =>
        put(node, {
          x: x - 1,
          y: y - 1,
          width: width + 2,
          height: height + 2,
          class: `bwp-matrix bwp-matrix-${state}`,
          'data-matrix': name,
        }),
      );
      names.fit(namesOf(view, place), (node, { x, y, text, anchor, kind }) => {
        put(node, { x, y, 'text-anchor': anchor, class: kind });
        setText(node, text);
      });
      numbers.fit(place.isPrinted ? printedNumbers(drawn, place) : [], (node, one) => {
        put(node, { x: one.x, y: one.y, class: `bwp-cell bwp-f-${one.isNow ? 'ink' : 'ink-2'}` });
        setText(node, one.text);
      });
      put(followed, { d: followedPath(view, drawn, place) });
    },
  };
}

/** The places of a pass's equations; where there is room for one, of what runs, or ran last. */
function makeEquationPlaces(model, { width, height, kind }) {
  const groups = new Map(equationGroups(model).map((group, i) => [model.passes[i].index, group]));
  const isCrowded = kind === 'lecture' && [...groups.values()].some((group) => group.length > 3);
  if (kind !== 'phone' && !isCrowded) {
    const places = new Map(
      [...groups].map(([pass, group]) => [pass, equationPlaces(model, group, width, height)]),
    );
    return ({ step }) => places.get(step.pass);
  }
  const alone = new Map();
  return (view) => {
    const mine = groups.get(view.step.pass).filter(({ pass }) => pass === view.step.pass);
    const status = mine.map((equation) => statusOf(view, equation));
    const at = Math.max(status.indexOf('running'), status.lastIndexOf('done'), 0);
    const one = mine[status.includes('running') ? status.indexOf('running') : at];
    const key = one ? `${one.pass} ${one.target}` : '';
    if (!alone.has(key)) alone.set(key, equationPlaces(model, one ? [one] : [], width, height));
    return alone.get(key);
  };
}

/** The matrices of one equation as they are at this step: values, size, and what happens to them. */
function drawnMatrices(view, equation, { cell }) {
  const { model, step } = view;
  const status = statusOf(view, equation);
  const lengths = axisLengths(model, equation.pass);
  return matricesOf(equation, cell).map((one) => {
    const values = valuesOf(view, one.name, equation);
    const isThere = values !== null && values.length > 0;
    const size = isThere ? [values.length, values[0].length] : [0, 0];
    if (one.isTransposed) size.reverse();
    const [rows, columns] = isThere ? size : matrixCells(model, lengths, one);
    const isMine = equation.pass === step.pass;
    const isMade = isMine && one.isTarget && step.values[one.name] !== undefined;
    const isLoaded = isMine && !one.isTarget && step.reads[one.name] > 0;
    const isUsed = !one.isTarget && status === 'running';
    return {
      ...one,
      values,
      status,
      rows: isThere ? rows : 0,
      columns: isThere ? columns : 0,
      width: columns * cell.w,
      height: rows * cell.h,
      isWhole: model.passOf.get(equation.pass).isWhole,
      isNow: isMade || isLoaded || isUsed,
      state: !isThere ? 'next' : isMade || isLoaded ? 'now' : isUsed ? 'used' : 'rest',
      largest: model.ranges.of(one.name),
    };
  });
}

/** The values of a matrix, if this step has them: an accumulator always, the rest once computed. */
function valuesOf(view, name, { pass }) {
  const { model, since, visit, state, step, program } = view;
  const { isWhole } = model.passOf.get(pass);
  if (pass > step.pass) return null;
  if (pass < step.pass) return storedPart(view, name, isWhole, model);
  if (name in state && !(name in model.arrays) && !model.on_chip.includes(name))
    return since[name] >= (isWhole ? program.first : visit.first) ? asRows(state[name]) : null;
  return matrixOf(view, name);
}

/** Whether an equation's sub-step runs, is over, or is to come in this visit. */
function statusOf(view, { phase, target, pass }) {
  const { model, step, index, visit, program } = view;
  if (pass !== step.pass) return pass < step.pass ? 'done' : 'next';
  if (step.phase === phase || step.values[target] !== undefined) return 'running';
  const from = model.passOf.get(pass).isWhole ? program.first : visit.first;
  for (let i = from; i < index; i += 1) if (model.steps[i].phase === phase) return 'done';
  return 'next';
}

function valueAt({ values, isTransposed }, i, j) {
  return isTransposed ? values[j][i] : values[i][j];
}

/** Draw the cells of a matrix; return the path of those that a mask hides. */
function paintMatrix(canvas, one, { cell, isPrinted }) {
  canvas.colour(matrixHue(one.name));
  const strength = one.isNow ? 1 : AT_REST;
  const block = {
    x: one.x,
    y: one.y,
    ...cell,
    rows: one.rows,
    columns: one.columns,
    largest: one.largest,
  };
  // A printed number has its sign; the ground shows how large it is.
  inkBlock(canvas, {
    ...block,
    isSigned: one.name !== 'p' && !isPrinted,
    strength: isPrinted ? NUMBER_GROUND * strength : strength,
    valueOf: (i, j) => valueAt(one, i, j),
  });
  return maskedPath(one, cell);
}

/** The cells whose score is −∞, as runs: a whole row of them is one rectangle. */
function maskedPath(one, cell) {
  let d = '';
  for (let i = 0; i < one.rows; i += 1)
    for (const [from, to] of runsOf(one.columns, (j) => valueAt(one, i, j) === -Infinity)) {
      const y = one.y + i * cell.h;
      d += barPath(one.x + from * cell.w, (to - from + 1) * cell.w, y, y + cell.h);
    }
  return d;
}

/** The hue of a matrix: weights, outputs and their like, or neutral. */
function matrixHue(name) {
  return { l: 'l', o: 'o' }[variable(name).kind] || 'ink-2';
}

function printedNumbers(drawn, { cell }) {
  const list = [];
  for (const one of drawn)
    for (let i = 0; i < one.rows; i += 1)
      for (let j = 0; j < one.columns; j += 1) {
        const value = valueAt(one, i, j);
        if (value === -Infinity) continue;
        list.push({
          x: one.x + (j + 0.5) * cell.w,
          y: one.y + (i + 0.5) * cell.h + 4.5,
          text: formatNarrow(value, cell.w >= 46 ? 2 : 1),
          isNow: one.isNow,
        });
      }
  return list;
}

/** What stands at the matrices: a factor's name in the corner, the whole line under the result. */
function namesOf(view, { equations, cell }) {
  const list = [];
  const kindOf = (name) =>
    `bwp-operand bwp-f-${{ l: 'l-text', o: 'o' }[variable(name).kind] || 'ink-2'}`;
  for (const equation of equations) {
    const { x, corner, baseline, inner, bottom, rows, target, lines, product, over } = equation;
    const status = statusOf(view, equation);
    const state = { running: ' bwp-equation-now', next: ' bwp-equation-next' }[status] || '';
    const top = baseline - CORNER_GAP;
    const name = ({ token, name: one }, nameX, y, anchor) =>
      list.push({ x: nameX, y, text: token, anchor, kind: kindOf(one) });
    if (equation.isSum) {
      name(product.left, x + 1, top - rows * cell.h - 6, 'start');
      name(product.right, corner + cell.w + 8, baseline + 12, 'start');
    } else if (product) {
      name(product.left, x + 1, baseline - 6, 'start');
      name(product.right, corner - 6, top - inner * cell.h + 12, 'end');
    }
    if (over) name({ name: over, token: over }, corner, top - rows * cell.h - 6, 'start');
    const line = (content, y, kind) => list.push({ x, y, text: content, anchor: 'start', kind });
    line(target, bottom + 17, `bwp-equation bwp-equation-name${state}`);
    lines.forEach((text, i) =>
      line(text, bottom + 33 + EQUATION_FOOT.line * i, `bwp-equation${state}`),
    );
  }
  return list;
}

/** The element that the formula follows: its row of one factor, its column of the other. */
function followedPath(view, drawn, { cell }) {
  const { chosen, model } = view;
  let d = '';
  const frame = (x, y, w, h) => `M${round(x)} ${round(y)}h${round(w)}v${round(h)}h${round(-w)}z`;
  for (const one of drawn) {
    if (!one.rows) continue;
    if (one.isWhole && view.col !== null && view.col !== undefined) {
      const [from, to] = model.grid.colSpan(view.col);
      d += frame(one.x + from * cell.w, one.y, (to - from) * cell.w, one.height);
    }
    if (one.status !== 'running') continue;
    const letters = [...model.axes[one.name]];
    if (one.isTransposed) letters.reverse();
    const at = (axis, n) => Math.min(chosen[axis] || 0, n - 1);
    const [i, j] = [at(letters[0], one.rows), at(letters[1], one.columns)];
    if (one.side === 'left' || one.side === 'row')
      d += frame(one.x, one.y + i * cell.h, one.columns * cell.w, cell.h);
    else if (one.side === 'top') d += frame(one.x + j * cell.w, one.y, cell.w, one.rows * cell.h);
    else d += frame(one.x + j * cell.w, one.y + i * cell.h, cell.w, cell.h);
  }
  return d;
}

/** Which row and column of the tile lie under a click. */
function elementUnder({ axes }, drawn, { cell }, x, y) {
  for (const one of drawn) {
    const isInside = x >= one.x && x < one.x + one.width && y >= one.y && y < one.y + one.height;
    if (!isInside || !one.rows) continue;
    const letters = [...axes[one.name]];
    if (one.isTransposed) letters.reverse();
    const place = [Math.floor((y - one.y) / cell.h), Math.floor((x - one.x) / cell.w)];
    const found = { [letters[0]]: place[0], [letters[1]]: place[1] };
    return { m: found.m, n: found.n };
  }
  return null;
}
