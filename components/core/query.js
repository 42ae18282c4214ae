// Queries of links that survive chat programs. app/state/link.py writes the same.

const encoded = sign => (sign === '+' ? '%20' : `%${sign.charCodeAt(0).toString(16).toUpperCase()}`);

/**
 * Returns a query without the `?` that programs which find links in a text do not cut: it ends in a letter or a digit,
 * has no sign of emphasis in chats (_ * ~), and no two full stops or hyphens in a row.
 * @param {string | URLSearchParams | Record<string, string> | string[][]} fields
 */
export function linkQuery(fields) {
  const query = String(new URLSearchParams(fields)).replace(/[_*~]|(?<=[-.])[-.]|[-.+]$/g, encoded);
  // a field with an empty text is followed by the default view, so that the query ends in a letter
  return query.endsWith('=') ? `${query}&view=used` : query;
}
