// The data that Python sends with the code: colours, texts, the glossary, the style sheets of components (`styles`) and of
// Streamlit's elements (`pageStyle`), the themes of charts, the address of the library of QR codes, and the citation.
// `embedded` is true in a notebook, where other elements of the page are not ours.

export const pageData = {
  colours: {},
  texts: {},
  glossary: {},
  styles: {},
  pageStyle: '',
  figures: {},
  qr: '',
  citation: '',
  embedded: false,
};
