// The data that Python sends with the code: colours, texts, the glossary, style sheets, and the themes of charts.

export const pageData = { colours: {}, texts: {}, glossary: {}, styles: {}, figures: {} };
