// One cursor for one or two figures: a list of moments, each an index into every figure's steps.

/**
 * The k-th visit of one figure goes with the k-th of the other. Within a visit the shorter one
 * stays at its last sub-step; a figure that has no visit left stays at its end, done.
 */
function makeTimeline(models) {
  const moments = [];
  const nVisits = Math.max(0, ...models.map((model) => model.visits.length));
  for (let k = 0; k < nVisits; k += 1) {
    const lengths = models.map(({ visits }) =>
      k < visits.length ? visits[k].last - visits[k].first + 1 : 0,
    );
    for (let s = 0; s < Math.max(...lengths); s += 1) {
      moments.push({
        visit: k,
        indices: models.map(({ visits, steps }, f) =>
          k < visits.length ? visits[k].first + Math.min(s, lengths[f] - 1) : steps.length - 1,
        ),
        done: models.map(({ visits }) => k >= visits.length),
      });
    }
  }
  return moments;
}

/** The first moment at which figure `f` is at step `index`. */
function momentOf(timeline, f, index) {
  const found = timeline.findIndex((moment) => moment.indices[f] === index);
  return Math.max(0, found);
}

/** The moment that starts the visit `offset` away; going back stops at this visit's own start. */
function visitStart(timeline, at, offset) {
  const here = timeline[at].visit;
  const start = timeline.findIndex((moment) => moment.visit === here);
  if (offset < 0 && at > start) return start;
  const target = timeline.findIndex((moment) => moment.visit === here + offset);
  if (target >= 0) return target;
  return offset < 0 ? 0 : timeline.length - 1;
}

/** The next moment at which a figure that still runs rescales with alpha below 1, or -1. */
function nextRescale(timeline, models, at) {
  const rescales = models.map((model) => new Set(model.rises));
  for (let i = at + 1; i < timeline.length; i += 1) {
    const { indices } = timeline[i];
    const fresh = indices.some(
      (index, f) => rescales[f].has(index) && timeline[i - 1].indices[f] !== index,
    );
    if (fresh) return i;
  }
  return -1;
}
