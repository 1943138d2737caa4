// Replaces a part of the page by a newer one from the viewer.

/**
 * What tells an element of one content from the others: its key, or else its place among them.
 * @param {Element} element
 * @param {number} place
 * @returns {string}
 */
function keyOf(element, place) {
  return (element instanceof HTMLElement && element.dataset["key"]) || String(place);
}

/**
 * Replaces the content of a section by HTML from the viewer's own templates. Opened parts stay open, and the focus stays where it was.
 * @param {HTMLElement} section
 * @param {string} html
 */
export function swap(section, html) {
  const parsed = new DOMParser().parseFromString(html, "text/html");
  const opened = new Map([...section.querySelectorAll("details")].map((details, place) => [keyOf(details, place), details.open]));
  const focusable = "a, button, summary, [tabindex]";
  const before = [...section.querySelectorAll(focusable)];
  const at = before.indexOf(/** @type {Element} */ (document.activeElement));
  const focused = before[at] ? keyOf(before[at], at) : "";
  const scrolled = [...section.querySelectorAll(".scroll")].map((box) => box.scrollLeft);
  section.replaceChildren(...[...parsed.body.childNodes].map((node) => document.adoptNode(node)));
  for (const [place, details] of section.querySelectorAll("details").entries()) details.open = opened.get(keyOf(details, place)) ?? details.open;
  for (const [place, box] of section.querySelectorAll(".scroll").entries()) box.scrollLeft = scrolled[place] ?? 0;
  const again = focused && [...section.querySelectorAll(focusable)].find((element, place) => keyOf(element, place) === focused);
  if (again instanceof HTMLElement || again instanceof SVGElement) again.focus({ preventScroll: true });
}
