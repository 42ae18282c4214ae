// Queries of links that chat programs do not cut. app/state/link.py encodes queries in the same way.

const encoded = sign => (sign === '+' ? '%20' : `%${sign.charCodeAt(0).toString(16).toUpperCase()}`);

/** Returns a query without `?`, encoded so that neither chats nor programs that detect links change or cut it. */
export function linkQuery(fields) {
  const query = String(new URLSearchParams(fields)).replace(/[_*~]|(?<=[-.])[-.]|[-.+]$/g, encoded);
  // a field with an empty text is followed by the default view, so that the query ends in a letter
  return query.endsWith('=') ? `${query}&teach=0` : query;
}
