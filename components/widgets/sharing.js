// The dialog that shows the link as a QR code, large enough for a class in front of a projector, and as a text. A button
// opens the device's share sheet, if the device has one.

import { pageData } from '../core/page_data.js';
import { fitsQr, isDense, isOwnComputer, qrPicture } from '../core/qr.js';
import { _ } from '../core/texts.js';
import { make, makeButton, setText } from './dom.js';
import { stateLink } from './download_menu.js';
import { svgElement } from './menu.js';

const LONG = 300; // characters of a link from which its type is small
// fields that the shared link leaves out: large type and the teacher's answer are not meant for those who scan the code
const OWN = ['teach', 'say'];
const OF_STEP = ['lesson', 'lang']; // fields that the shared link keeps in a lesson

/** Returns the remarks below a link: that it omits changes in a lesson, and problems with scanning its code. */
function remarks(link, code, isStep) {
  const lines = isStep ? [_('The link opens this step without your changes.')] : [];
  if (!fitsQr(link))
    lines.push(_('{n} characters are too long for a QR code. Copy the link.', { n: link.length.toLocaleString('en') }));
  else if (!code) lines.push(_('The QR code could not be loaded. Copy the link.'));
  else if (isDense(code)) lines.push(_('A long link: scan from close up, or copy it.'));
  return lines;
}

/** Returns the QR code of a link; null if it does not fit, or if the library cannot be loaded. */
async function codeOf(link) {
  if (!fitsQr(link)) return null;
  try {
    const { generate } = await import(new URL(pageData.qr, document.baseURI).href);
    return generate(link);
  } catch {
    return null;
  }
}

function drawing(code) {
  const { side, path } = qrPicture(code);
  const element = svgElement([
    'svg',
    { viewBox: `0 0 ${side} ${side}`, class: 'qr', role: 'img', 'aria-label': _('QR code of the link below') },
    ['rect', { width: side, height: side, fill: '#ffffff' }],
    ['path', { d: path, fill: '#000000' }],
  ]);
  element.setAttribute('shape-rendering', 'crispEdges');
  return element;
}

/** Creates {dialog, foot, open(), close()}; `foot` is an empty element at the end of the dialog. */
export function createSharing(settled, copy) {
  const close = make('button.muted', { textContent: '×', 'aria-label': _('Close'), onclick: () => dialog.close() });
  const picture = make('div.picture');
  // The code of an address that no other device can open is folded: a class would scan it in vain.
  const isOwn = isOwnComputer(location.hostname);
  const unfold = makeButton('button', _('Show the QR code anyway'), () => {
    picture.hidden = false;
    unfold.hidden = true;
    close.focus(); // the focus would be lost with its button
  });
  const warning = make('div.warning.wrap.fill', { hidden: !isOwn });
  warning.append(make('p', { textContent: _('This address works on this computer only.') }), unfold);
  const text = make('p.link', { translate: false });
  const lines = make('div.remarks.muted');
  const foot = make('div.foot.wrap');
  const copied = make('span.copied.strong', { role: 'status' });
  const copyButton = makeButton('button', _('Copy link'), async () =>
    setText(copied, (await copy(shown, dialog)) ? _('Copied') : _('Not copied: use the address bar')),
  );
  // rejected if the visitor closes the share sheet
  const shareButton = makeButton('button', _('Share…'), () =>
    navigator.share({ title: document.title, url: shown }).catch(() => undefined),
  );
  shareButton.hidden = !navigator.share;
  const dialog = make(
    'dialog',
    { 'aria-labelledby': 'sharing' },
    make('div.head.flex', make('h2.fill', { id: 'sharing', textContent: _('Open this on another device') }), close),
    make(
      'div.body.wrap',
      warning,
      picture,
      make('div.beside.grid', text, make('div.acts.wrap', copyButton, shareButton, copied), lines, foot),
    ),
  );
  let shown = ''; // the link in the dialog
  // A press on the backdrop has the dialog itself as its target and closes the dialog. The release of the mouse after
  // selecting text beyond the edge of the dialog does not close it.
  let isOutside = false;
  dialog.addEventListener('pointerdown', event => {
    isOutside = event.target === dialog;
  });
  dialog.addEventListener('click', event => {
    if (event.target === dialog && isOutside) dialog.close();
  });
  dialog.addEventListener('keydown', event => event.stopPropagation()); // letters are shortcuts of the heads
  const open = async () => {
    await settled();
    const names = [...new URLSearchParams(location.search).keys()];
    const isStep = names.includes('lesson');
    // A class gets the step as it opens: the changes of the teacher would give the answer away.
    const link = stateLink(isStep ? names.filter(name => !OF_STEP.includes(name)) : OWN);
    const code = await codeOf(link);
    if (!dialog.isConnected) return;
    shown = link;
    picture.replaceChildren(...(code ? [drawing(code)] : []));
    picture.hidden = !code || isOwn;
    unfold.hidden = !code;
    setText(text, link);
    text.classList.toggle('long', link.length > LONG);
    text.tabIndex = link.length > LONG ? 0 : -1; // a long link scrolls, also by keys
    setText(copied, '');
    lines.replaceChildren(...remarks(link, code, isStep).map(textContent => make('p', { textContent })));
    dialog.style.zoom = String(1 / (dialog.parentElement?.currentCSSZoom || 1)); // large type zooms the page
    if (!dialog.open) dialog.showModal();
  };
  return { dialog, foot, open, close: () => dialog.close() };
}
