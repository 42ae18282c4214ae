// The data that Python sends with the code: colours, texts, the glossary, style sheets, the themes of charts, and the citation.
// `embedded` is set in a notebook, whose page is not ours.

export const pageData = {
  colours: {},
  texts: {},
  glossary: {},
  styles: {},
  figures: {},
  citation: '',
  embedded: false,
};
