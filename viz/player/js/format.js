// Numbers as a reader can check them: enough digits to be true, never more than the figure needs.

const MINUS = '\u2212';
const INFINITY = '\u221e';

/** Turn "inf", "-inf" and "nan", which JSON cannot hold as numbers, back into numbers; unpack. */
function decode(value) {
  if (typeof value === 'number') return value;
  if (Array.isArray(value)) return value.map(decode);
  if (value && value.f32 !== undefined) return unpacked(value);
  if (value === 'inf') return Infinity;
  if (value === '-inf') return -Infinity;
  return NaN;
}

function special(value) {
  if (Number.isNaN(value)) return 'NaN';
  return value > 0 ? INFINITY : MINUS + INFINITY;
}

function exponential(value, digits) {
  const [mantissa, exponent] = value.toExponential(digits).split('e');
  return mantissa + 'e' + exponent.replace('+', '');
}

/** Format with `pick`, after the cases that every number shares. */
function printed(value, pick) {
  if (!Number.isFinite(value)) return special(value);
  const size = Math.abs(value);
  let text;
  if (size === 0) text = '0';
  else if (size >= 1e6 || size < 0.001) text = exponential(value, 1);
  else text = pick(value);
  return text.replaceAll('-', MINUS);
}

/** An input or a maximum: two decimals where those are exact, else up to four. */
function formatScore(value) {
  return printed(value, (v) => {
    if (Math.abs(v) >= 1000) return String(Number(v.toFixed(2)));
    const two = v.toFixed(2);
    if (Math.abs(Number(two) - v) < 1e-6 * Math.max(1, Math.abs(v))) return two;
    return String(Number(v.toFixed(4)));
  });
}

/** A sum, a weight or an output: three decimals. */
function formatSum(value) {
  return printed(value, (v) => (Math.abs(v) >= 10000 ? v.toFixed(1) : v.toFixed(3)));
}

/** A factor: three decimals, but 0.9996 is not 1, so as many as keep it apart from 1. */
function formatFactor(value) {
  if (value === 1) return '1';
  return printed(value, (v) => {
    for (let digits = 3; digits < 8; digits += 1) {
      const text = v.toFixed(digits);
      if (Number(text) !== 1) return text;
    }
    return String(v);
  });
}

/** A number on an axis: short, since the gutter is narrow. */
function formatAxis(value) {
  const size = Math.abs(value);
  const short = size >= 10000 || (size > 0 && size < 0.001);
  const text = short
    ? exponential(value, 1).replace('.0e', 'e')
    : String(Number(value.toPrecision(3)));
  return text.replaceAll('-', MINUS);
}

/** How each variable of the kernels is written: its symbol on the page, its colour, its digits. */
const VARIABLES = {
  m: { symbol: 'm', kind: 'm', format: formatScore },
  m_new: { symbol: 'm_new', kind: 'm', format: formatScore },
  block_max: { symbol: 'block_max', kind: 'now', format: formatScore },
  alpha: { symbol: '\u03b1', kind: 'alpha', format: formatFactor },
  l: { symbol: 'l', kind: 'l', format: formatSum },
  p: { symbol: 'p', kind: 'l', format: formatSum },
  p_sum: { symbol: '\u2211 p', kind: 'l', format: formatSum },
  acc: { symbol: 'o', kind: 'o', format: formatSum },
  pv_sum: { symbol: 'p \u00b7 V', kind: 'o', format: formatSum },
  o: { symbol: 'o', kind: 'o', format: formatSum },
  y: { symbol: 'y', kind: 'o', format: formatSum },
  z: { symbol: 'z', kind: 'o', format: formatSum },
  dx: { symbol: 'dx', kind: 'o', format: formatSum },
  m_part: { symbol: 'm_part', kind: 'm', format: formatScore },
  l_part: { symbol: 'l_part', kind: 'l', format: formatSum },
  delta: { symbol: 'delta', kind: 'ink', format: formatSum },
  t: { symbol: 't', kind: 'ink', format: formatSum },
  t_sum: { symbol: '\u2211 t', kind: 'ink', format: formatSum },
  lse: { symbol: 'lse', kind: 'ink', format: formatSum },
  lse_part: { symbol: 'lse_part', kind: 'ink', format: formatSum },
  lse_max: { symbol: 'lse_max', kind: 'm', format: formatSum },
  weight: { symbol: 'weight', kind: 'l', format: formatSum },
  sum: { symbol: 'sum', kind: 'l', format: formatSum },
  o_part: { symbol: 'o_part', kind: 'o', format: formatSum },
  c: { symbol: 'c', kind: 'o', format: formatSum },
  dq: { symbol: 'dq', kind: 'o', format: formatSum },
  dk: { symbol: 'dk', kind: 'o', format: formatSum },
  dv: { symbol: 'dv', kind: 'o', format: formatSum },
  scores: { symbol: 'scores', kind: 'now', format: formatSum },
  s: { symbol: 's', kind: 'now', format: formatSum },
};

const PLAIN = { kind: 'ink', format: formatScore };

/** A variable as one algorithm's page writes it: `acc` is called o only beside m and l. */
function variableOf({ on_chip: kept, rows }, name) {
  const known = variable(name);
  if (rows && rows[name]) return { ...known, kind: 'ink' }; // y is an output, but not everywhere
  return name === 'acc' && !kept.includes('l') ? { ...known, symbol: name } : known;
}

function variable(name) {
  return VARIABLES[name] || { ...PLAIN, symbol: name };
}
