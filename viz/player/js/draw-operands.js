// Beside the grid of a product: the rows' matrix at its left, the columns' on top, block by block.

const OPERAND_INK = 0.8;

function makeOperandStrips(parent, canvas, places, model) {
  const { operands, square, cell } = places;
  const { sizes, grid } = model;
  const block = sizes.block_k;
  const nBlocks = Math.ceil(operands.depth / block);
  const start = {
    x: places.left - OPERAND_GAP - operands.depth * square,
    y: places.top - OPERAND_GAP - operands.depth * square,
  };
  const alongX = (k) => start.x + k * square;
  const alongY = (k) => start.y + k * square;
  const blockSpan = (b) => [b * block, Math.min((b + 1) * block, operands.depth)];
  canvas.colour('ink-2');
  paintMatrix(operands.left, (i, k) => [alongX(k), places.y(i), square, cell.h]);
  paintMatrix(operands.top, (k, j) => [places.x(j), alongY(k), cell.w, square]);

  /** The box of block `b` of the strip that belongs to row or column `at` of the grid. */
  const boxAt = (side, at, b) => {
    const [k0, k1] = blockSpan(b);
    const tile = places.box(side === 'left' ? [at, 0] : [0, at]);
    return side === 'left'
      ? { x: alongX(k0), y: tile.y, width: (k1 - k0) * square, height: tile.height }
      : { x: tile.x, y: alongY(k0), width: tile.width, height: (k1 - k0) * square };
  };
  const strips = ['left', 'top'].map((side) => {
    const n = side === 'left' ? grid.tileRows : grid.tileCols;
    for (let at = 0; at < n; at += 1) {
      const [first, last] = [boxAt(side, at, 0), boxAt(side, at, nBlocks - 1)];
      svg(parent, 'rect', {
        class: 'bwp-tile bwp-tile-rest',
        x: round(first.x),
        y: round(first.y),
        width: round(last.x + last.width - first.x),
        height: round(last.y + last.height - first.y),
      });
    }
    const blocks = makePool(parent, (g) => svg(g, 'rect'));
    const name = svg(parent, 'text', {
      class: 'bwp-operand',
      x: side === 'left' ? start.x + 2 : places.right + 8,
      y: side === 'left' ? places.top - OPERAND_GAP - 2 : start.y + 12,
      text: tensorLabel(operands[side]),
    });
    return { side, blocks, name };
  });

  function paintMatrix(tensor, boxOf) {
    const largest = model.ranges.of(tensor);
    model.arrays[tensor].forEach((row, i) =>
      row.forEach((value, j) => squareCell(canvas, ...boxOf(i, j), value, largest, OPERAND_INK)),
    );
  }

  return {
    set({ model: { steps }, index, step, program, row, col }) {
      let read = 0;
      for (let i = program.first; i <= index; i += 1)
        if (steps[i].block !== null) read = steps[i].block + 1;
      for (const { side, blocks } of strips) {
        const at = side === 'left' ? row : col;
        const list = Array.from({ length: nBlocks }, (_, b) => b);
        blocks.fit(list, (node, b) => {
          const { x, y, width, height } = boxAt(side, at, b);
          const isNow = step.block === b;
          const kind = isNow ? 'bwp-tile-edge' : `bwp-tile bwp-tile-${b < read ? 'read' : 'next'}`;
          put(node, { x: x + 0.5, y: y + 0.5, width: width - 1, height: height - 1, class: kind });
        });
      }
    },
  };
}
