// What people read, in their language: English stands in the code, other languages in the catalogues of assets/texts,
// of which Python sends the part that stands here (app/texts.py). A text is a literal with {names} for values.

import { pageData } from './page_data.js';

let language = 'en'; // of the last payload

/** The visitor's language. */
export const currentLanguage = () => language;

export function setLanguage(value) {
  language = value;
}

/** An address of these fields of a link, in the visitor's language, of which English needs no field. */
export const stateQuery = fields =>
  `?${new URLSearchParams(language === 'en' ? fields : { ...fields, lang: language })}`;

const filled = (text, values) =>
  text.replace(/\{(\w+)\}/g, (whole, name) => (Object.hasOwn(values, name) ? String(values[name]) : whole));

const known = text => {
  const texts = pageData.texts?.[language];
  return texts && Object.hasOwn(texts, text) ? texts[text] : null;
};

/** Marks a text that is looked up later, with `_`. */
export const N_ = text => text;

/** The text in the visitor's language, its {names} filled. */
export const _ = (text, values = {}) => filled(known(text) ?? text, values);
