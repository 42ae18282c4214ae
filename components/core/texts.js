// Translates interface texts. English literals in the code, with {names} for values, are the keys of the catalogues in
// assets/texts. Python sends the part of the catalogues that the browser needs (app/texts.py).

import { pageData } from './page_data.js';
import { linkQuery } from './query.js';

let language = 'en'; // the language of the last payload

/** Returns the visitor's language. */
export const currentLanguage = () => language;

export function setLanguage(value) {
  language = value;
}

/** Returns the query of a link with these fields, and with the language unless it is English. */
export const stateQuery = fields => `?${linkQuery(language === 'en' ? fields : { ...fields, lang: language })}`;

const filled = (text, values) =>
  text.replace(/\{(\w+)\}/g, (whole, name) => (Object.hasOwn(values, name) ? String(values[name]) : whole));

const known = text => {
  const texts = pageData.texts?.[language];
  return texts && Object.hasOwn(texts, text) ? texts[text] : null;
};

/** Marks a text for the catalogues; `_` translates it later. */
export const N_ = text => text;

/** Returns the text in the visitor's language with its {names} filled. */
export const _ = (text, values = {}) => filled(known(text) ?? text, values);
