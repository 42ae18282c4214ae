// What people read, in their language: English stands in the code, other languages in the catalogues of assets/texts,
// of which Python sends the part that stands here (app/texts.py). A text is a literal with {names} for values.

lab.language = 'en'; // what the last payload said

/** An address of these fields of a link, in the visitor's language, of which English needs no field. */
lab.address = fields => `?${new URLSearchParams(lab.language === 'en' ? fields : { ...fields, lang: lab.language })}`;

const filled = (text, values) =>
  text.replace(/\{(\w+)\}/g, (whole, name) => (Object.hasOwn(values, name) ? String(values[name]) : whole));

const known = text => {
  const texts = lab.texts?.[lab.language];
  return texts && Object.hasOwn(texts, text) ? texts[text] : null;
};

/** Marks a text that is looked up later, with `lab._`. */
lab.N_ = text => text;

/** The text in the visitor's language, its {names} filled. */
lab._ = (text, values = {}) => filled(known(text) ?? text, values);
