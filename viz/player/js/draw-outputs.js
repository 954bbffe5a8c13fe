// The outputs y of a row softmax: a bar per column, written block by block in the last pass.

function makeOutputsPanel(parent, layout, model, words) {
  const panel = layout.panels.outputs;
  const scale = makeScale(0, model.ranges.output, panel.bottom, panel.top);
  makeHead(parent, layout, panel, {
    name: { text: words.say('player.outputs') },
    symbol: 'y',
    kind: 'o',
    notes: ['p \u00f7 l'],
  });
  makeAxis(parent, layout, scale, niceTicks(0, model.ranges.output, panel.height / 30));
  const bars = makeBarStates(parent, layout, scale, {
    rest: 'o-rest',
    now: 'o',
    testid: 'outputs',
  });
  const y = Float64Array.from(model.record.y.flatMap((born) => (born ? born.value : [])));
  return {
    set(view) {
      const { phase, start, stop } = view.step;
      const isNow = phase === 'normalize' || phase === 'store';
      return bars.set(y.subarray(0, view.outputStop), {
        now: isNow ? [start, stop] : null,
        were: null,
      });
    },
    move: bars.move,
  };
}
