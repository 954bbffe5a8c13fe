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
  const updateNote = update.querySelector('.bwp-section-note');
  const kernel = section('bwp-kernel', words.say('player.kernel'), model.source.file);
  const [pastTitle, pastNote] = historyTitle(words, model);
  const past = section('bwp-history-section', pastTitle, pastNote.replace('\n', ' '));
  past.open ||= Boolean(model.hasParts); // the merge is drawn there
  const traffic = section(
    'bwp-traffic',
    words.say('player.traffic'),
    words.say('player.traffic_note', { dtype: model.dtype }),
  );
  html(past, 'div', 'bwp-history-host');
  const hasHistory = !model.isTiles && historyRows(model).length > 0;
  const formulaHost = html(update, 'div', 'bwp-formula');
  textColumn.replaceChildren(update, kernel, ...(hasHistory ? [past] : []), traffic);
  const source = makeSource(kernel, model, words);
  app.texts = [
    makeFormula(formulaHost, model),
    source,
    makeTraffic(traffic, model, words),
    makeTable(textColumn, words),
  ];
  if (model.isTiles) app.texts.push(makeFollowedNote(updateNote, words));
  if (app.signature) (model.isTiles ? placeTileParts : placeParts)(isPhone);
}

/** Whose numbers the formula of a grid shows, and how to follow others. */
function makeFollowedNote(node, words) {
  return {
    set(view) {
      const { model, chosen, row } = view;
      const isPlaced = row !== null && row !== undefined;
      const key = model.panels.includes('rows') ? 'player.followed_row' : 'player.followed_element';
      setText(node, isPlaced ? words.say(key, { row: rowNumber(view, chosen.m) }) : '');
    },
  };
}
