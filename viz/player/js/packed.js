// Arrays that came as base64: a vector becomes a Float32Array, a matrix the list of its rows.

function unpacked({ f32, shape }) {
  const text = atob(f32);
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i += 1) bytes[i] = text.charCodeAt(i);
  const flat = new Float32Array(bytes.buffer);
  if (shape.length === 1) return flat;
  const [rows, columns] = shape;
  return Array.from({ length: rows }, (_, i) => flat.subarray(i * columns, (i + 1) * columns));
}

function isVector(value) {
  return value instanceof Float32Array;
}

/** Whether a value is a matrix: a list of rows. */
function isMatrix(value) {
  return Array.isArray(value);
}
