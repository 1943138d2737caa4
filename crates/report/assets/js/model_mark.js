// The mark of a model: a colour and a shape that follow from its id alone, so that a model looks the same in every report.

const SVG = "http://www.w3.org/2000/svg";
/** The four shapes, centred on zero. @type {[string, Record<string, string>][]} */
const SHAPES = [
  ["circle", { r: "5" }],
  ["rect", { x: "-4.5", y: "-4.5", width: "9", height: "9" }],
  ["path", { d: "M0-6 6 0 0 6-6 0z" }],
  ["path", { d: "M0-5.5 5.5 4.5h-11z" }],
];

/**
 * The 32-bit FNV-1a hash of a text in UTF-8.
 * @param {string} text
 * @returns {number}
 */
export function fnv1a32(text) {
  let hash = 0x811c9dc5;
  for (const byte of new TextEncoder().encode(text)) hash = Math.imul(hash ^ byte, 0x01000193) >>> 0;
  return hash;
}

/**
 * The mark of a model, for the place before its name. The name always stands beside it: two models may share a mark.
 * @param {string} id The model's id.
 * @returns {SVGSVGElement}
 */
export function modelMark(id) {
  const hash = fnv1a32(id);
  const mark = document.createElementNS(SVG, "svg");
  mark.setAttribute("class", `model-mark k${hash % 8}`);
  mark.setAttribute("viewBox", "-6.5 -6.5 13 13");
  mark.setAttribute("aria-hidden", "true");
  const [tag, attributes] = SHAPES[(hash >>> 8) % 4] ?? ["circle", { r: "5" }];
  const shape = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) shape.setAttribute(name, value);
  mark.append(shape);
  return mark;
}
