// The text column: formula, kernel, history on a phone, traffic, and the numbers as text.

/** Build the text column for the active figure. */
function buildTexts() {
  const { model } = app.figures[app.active];
  const { words } = app;
  const isPhone = root.classList.contains('bwp-phone');
  const section = (className, title, note) => {
    const details = html(null, 'details', `bwp-section ${className}`);
    details.open = !isPhone || className === 'bwp-update';
    const summary = html(details, 'summary');
    html(summary, 'span', 'bwp-section-title', title);
    html(summary, 'span', 'bwp-section-note', note);
    return details;
  };
  const isPair = app.figures.length > 1;
  const title = words.say(`algorithm.${model.name}.title`);
  const update = section(
    'bwp-update',
    words.say('player.update'),
    isPair ? title : words.say('player.with_numbers'),
  );
  const kernel = section('bwp-kernel', words.say('player.kernel'), model.source.file);
  const past = section(
    'bwp-history-section',
    words.say('player.history'),
    words.say('player.after_each_block').replace('\n', ' '),
  );
  const traffic = section(
    'bwp-traffic',
    words.say('player.traffic'),
    words.say('player.traffic_note', { dtype: model.dtype }),
  );
  html(past, 'div', 'bwp-history-host');
  const formulaHost = html(update, 'div', 'bwp-formula');
  textColumn.replaceChildren(update, kernel, past, traffic);
  const source = makeSource(kernel, model, words);
  app.texts = [
    makeFormula(formulaHost, model),
    source,
    makeTraffic(traffic, model, words),
    makeTable(textColumn, words),
  ];
  if (isPhone && app.signature) placeParts(isPhone);
}
