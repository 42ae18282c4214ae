// The data that Python sends with the code: colours, texts, the glossary, style sheets, and the themes of charts.
// `embedded` is set in a notebook, whose page is not ours.

export const pageData = { colours: {}, texts: {}, glossary: {}, styles: {}, figures: {}, embedded: false };
