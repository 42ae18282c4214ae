// The data that Python sends with the code: colours, texts, the glossary, style sheets, the themes of charts, and the
// citation. `embedded` is true in a notebook, where other elements of the page are not ours.

export const pageData = {
  colours: {},
  texts: {},
  glossary: {},
  styles: {},
  figures: {},
  citation: '',
  embedded: false,
};
