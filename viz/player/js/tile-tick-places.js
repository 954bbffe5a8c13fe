// Where the ticks of a grid stand: all of them, or the running tile's and one for each other.

/** How finely a pass's steps are drawn. */
const EVERY_STEP = 0;
const EVERY_VISIT = 1;
const EVERY_PROGRAM = 2;

function tickLevel(programs, spans) {
  const narrowest = Math.min(...programs.map((program) => spans.get(program).unit));
  if (narrowest >= TILE_TICK) return EVERY_STEP;
  const perVisit = programs.map(
    (program) => spans.get(program).width / (program.visits.length + 0.6),
  );
  return Math.min(...perVisit) >= VISIT_TICK ? EVERY_VISIT : EVERY_PROGRAM;
}

/** What `makeTickMarks` asks for: ticks by step, the nearest to a place, and when to draw anew. */
function makeTileTickPlaces(model, spans, isOneLine) {
  const levels = new Map(
    model.passes.map(({ index, programs }) => [index, tickLevel(programs, spans)]),
  );
  const closest = Math.min(
    LOOSE,
    ...[...spans].map(([{ pass, visits }, { unit, width }]) => {
      if (levels.get(pass) === EVERY_STEP) return unit;
      return levels.get(pass) === EVERY_VISIT ? width / (visits.length + 0.6) : width;
    }),
  );
  const right = Math.max(...[...spans.values()].map(({ x, width }) => x + width));
  const left = Math.min(...[...spans.values()].map(({ x }) => x));
  let spreadVisit = null;

  /** Where a visit begins and ends on its line, before anything spreads. */
  const homes = new Map();
  for (const [program, { x, width, unit }] of spans) {
    let at = x;
    const even = (width - 3) / program.visits.length;
    for (const visit of program.visits) {
      const n = visit.last - visit.first + 1;
      if (levels.get(program.pass) === EVERY_STEP) {
        homes.set(visit, { from: at + unit / 2, to: at + (n - 0.5) * unit, step: unit });
        at += (n + VISIT_AIR) * unit;
      } else {
        homes.set(visit, { from: at + even / 2, to: at + even / 2, step: 0 });
        at += even;
      }
    }
  }
  const programX = (program) => spans.get(program).x + spans.get(program).width / 2;
  const centre = (visit) =>
    levels.get(visit.pass) === EVERY_PROGRAM
      ? programX(visit.owner)
      : (homes.get(visit).from + homes.get(visit).to) / 2;

  /** Where the running visit stands once its sub-steps, or its program's visits, have spread. */
  const spreadOf = (visit) => {
    const level = levels.get(visit.pass);
    if (level === EVERY_STEP) return homes.get(visit);
    const n = visit.last - visit.first + 1;
    const width = LOOSE * (n - 1);
    const at = level === EVERY_VISIT ? centre(visit) : crowdX(visit);
    const from = Math.max(left, Math.min(right - width, at - width / 2));
    return { from, to: from + width, step: LOOSE };
  };

  /** Where programs are ticks, the visits of the running program stand side by side around its own place. */
  const crowdStep = 5;
  const crowdX = (visit) => {
    const { visits } = visit.owner;
    const at = visits.indexOf(visit);
    const middle = (visits.length - 1) / 2;
    const half = middle * crowdStep + LOOSE * 3;
    const x = Math.max(left + half, Math.min(right - half, programX(visit.owner)));
    return x + (at - middle) * crowdStep;
  };

  const of = (index) => {
    const visit = model.visits[model.visitOf[index]];
    const { from, step } = spreadOf(visit);
    return from + (index - visit.first) * step;
  };

  /** The ticks of a pass that are drawn when `visit` runs: {first, last, x}. */
  const ticksFor = (visit) => {
    const ticks = [];
    const whole = (one, x) => ({ first: one.first, last: one.last, x });
    const shown = visit && spreadOf(visit);
    const isHidden = (pass, x) =>
      levels.get(pass) !== EVERY_STEP &&
      visit &&
      visit.pass === pass &&
      x > shown.from - LOOSE &&
      x < shown.to + LOOSE;
    for (const program of spans.keys()) {
      if (isOneLine && visit && program.pass !== visit.pass) continue;
      const isRunning = visit && visit.owner === program;
      const level = levels.get(program.pass);
      if (level === EVERY_PROGRAM && !isRunning) {
        const x = programX(program);
        if (!isHidden(program.pass, x)) ticks.push(whole(program, x));
        continue;
      }
      for (const one of program.visits) {
        if (level === EVERY_STEP || one === visit) {
          for (let i = one.first; i <= one.last; i += 1)
            ticks.push({ first: i, last: i, x: of(i) });
          continue;
        }
        let x = level === EVERY_VISIT ? centre(one) : crowdX(one);
        if (level === EVERY_PROGRAM)
          x += x < crowdX(visit) ? shown.from - crowdX(visit) - 2 : shown.to - crowdX(visit) + 2;
        if (level === EVERY_PROGRAM || !isHidden(one.pass, x)) ticks.push(whole(one, x));
      }
    }
    return ticks;
  };

  const fineTiles = model.visits.filter(
    ({ block, pass }) => block !== null && levels.get(pass) === EVERY_STEP,
  );
  let ticks = ticksFor(null);
  let version = 'all';
  return {
    dot: Math.min(6, closest * 0.78),
    diamond: Math.max(2.6, Math.min(6, closest * 0.95)),
    of,
    spread({ visit }) {
      if (spreadVisit === visit) return;
      spreadVisit = visit;
      const isSpread = levels.get(visit.pass) !== EVERY_STEP;
      const next = isSpread ? `visit ${visit.first}` : isOneLine ? `pass ${visit.pass}` : 'all';
      if (next === version) return;
      version = next;
      ticks = ticksFor(visit);
    },
    version: () => version,
    all: () => ticks,
    ends(visit) {
      const { from, to } = spreadOf(visit);
      return [from, to];
    },
    /** The foot lines: of every tile where all sub-steps are drawn, else of the running one. */
    feet() {
      const isHere = ({ pass }) => !isOneLine || !spreadVisit || pass === spreadVisit.pass;
      const visits = fineTiles.filter((visit) => visit !== spreadVisit && isHere(visit));
      if (spreadVisit && spreadVisit.block !== null) visits.push(spreadVisit);
      return visits.map((visit) => {
        const { from, to } = spreadOf(visit);
        return [visit, from - 2.5, to + 2.5];
      });
    },
    nearest(x, pass) {
      let [best, least] = [0, Infinity];
      for (const tick of ticks) {
        if (model.steps[tick.first].pass !== pass) continue;
        const distance = Math.abs(tick.x - x);
        if (distance < least) [best, least] = [tick.first, distance];
      }
      return best;
    },
  };
}
