// What Python sends with the code: colours, catalogues of texts, the glossary and style sheets.

export const pageData = { colours: {}, texts: {}, glossary: {}, styles: {} };
