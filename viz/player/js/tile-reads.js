// Which blocks of the inputs are read how often: a dot is one program's reading of one block.

/** For the grid's rows and columns: groups of tensors that are always read together. */
function findReads(model) {
  const { grid } = model;
  return {
    rows: groupReads(model, grid.row_reads, 0, grid.tileRows),
    cols: groupReads(model, grid.col_reads, 1, grid.tileCols),
  };
}

function groupReads(model, tensors, side, n) {
  const groups = [];
  for (const tensor of tensors) {
    const lists = readsOf(model, tensor, side, n);
    const key = JSON.stringify(lists);
    const same = groups.find((group) => group.key === key);
    if (same) same.tensors.push(tensor);
    else groups.push({ key, tensors: [tensor], lists });
  }
  return groups
    .filter(({ lists }) => lists.some((list) => list.length))
    .map(({ tensors: names, lists }) => ({
      tensors: names,
      lists,
      most: Math.max(...lists.map((list) => list.length)),
    }));
}

/** For each block of a tensor, the first step of every program that reads it. */
function readsOf(model, tensor, side, n) {
  const lists = Array.from({ length: n }, () => []);
  const last = new Array(n).fill(null);
  for (const program of model.programs) {
    for (let index = program.first; index <= program.last; index += 1) {
      const step = model.steps[index];
      if (!step.reads[tensor]) continue;
      const place = step.tile ? step.tile[side] : [program.row, program.col][side];
      if (place === null || last[place] === program) continue;
      last[place] = program;
      lists[place].push(index);
    }
  }
  return lists;
}

/** How many of a sorted list of steps are done at `index`. */
function countDone(list, index) {
  let n = 0;
  while (n < list.length && list[n] <= index) n += 1;
  return n;
}

/** A tensor's name as it is written on the page: matrices of the inputs in capitals. */
function tensorLabel(name) {
  return { do: 'dO', dq: 'dQ', dk: 'dK', dv: 'dV', s: 'S', p: 'P' }[name] || inputLabel(name);
}

function inputLabel(name) {
  return name.length === 1 && name !== 'o' ? name.toUpperCase() : name;
}
