// Every word comes from the locale tables; a template's {names} become coloured parts.

/** Return the lookups of one language: `say(key)`, `has(key)`, `count(key, n)`. */
function wordsOf(strings) {
  const has = (key) => Object.hasOwn(strings, key);
  const say = (key, values = {}) =>
    fill(has(key) ? strings[key] : key, values)
      .map((part) => part.text)
      .join('');
  const count = (key, n) =>
    say(`player.count.${key}.${n === 1 && has(`player.count.${key}.one`) ? 'one' : 'other'}`, {
      n,
    });
  const template = (key) => strings[key];
  /** A number of bytes; in kilobytes once that is shorter. */
  const bytes = (n) =>
    n < 10000 ? count('bytes', n) : say('player.kilobytes', { n: (n / 1000).toFixed(1) });
  return { has, say, count, template, bytes };
}

/**
 * Split a template at its {names}. `values` maps a name to a text, a number, or {text, kind}.
 * Return parts {text, kind}; a plain stretch has no kind.
 */
function fill(template, values) {
  const parts = [];
  let rest = 0;
  for (const match of template.matchAll(/\{(\w+)\}/g)) {
    if (match.index > rest) parts.push({ text: template.slice(rest, match.index) });
    const value = values[match[1]];
    if (value === undefined) parts.push({ text: match[0] });
    else parts.push(typeof value === 'object' ? value : { text: String(value) });
    rest = match.index + match[0].length;
  }
  if (rest < template.length) parts.push({ text: template.slice(rest) });
  return parts;
}

/** Put parts into an HTML element, as text only. */
function setParts(node, parts) {
  node.replaceChildren(
    ...parts.map((part) => {
      if (!part.kind) return document.createTextNode(part.text);
      const span = document.createElement('span');
      span.className = `bwp-k-${part.kind}`;
      span.textContent = part.text;
      if (part.name) span.dataset.name = part.name;
      return span;
    }),
  );
}

/** A phase's name, the algorithm's own where it has one. */
function phaseName(words, model, phase) {
  const own = `player.phase.${model.name}.${phase}`;
  return words.say(words.has(own) ? own : `phase.${phase}`);
}

/** A pass's number, or what the algorithm calls it. */
function passName(words, model, pass) {
  const own = `player.pass.${model.name}.${pass}`;
  return words.has(own) ? words.say(own) : words.say('player.pass', { pass: pass + 1 });
}

function plainText(parts) {
  return parts.map((part) => part.text).join('');
}
