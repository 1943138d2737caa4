// The differences between two texts, word by word.

/**
 * A sequence of words that both texts have, or only one of them.
 * @typedef {object} Piece
 * @property {"same" | "a" | "b"} in
 * @property {string} a As the first text has it.
 * @property {string} b As the second text has it: the white space between words may differ.
 */

// Texts that need more comparisons than this are shown without marks.
const MOST_COMPARISONS = 6_000_000;

/**
 * The words, each with the white space after it.
 * @param {string} text
 * @returns {string[]}
 */
function words(text) {
  return text.match(/[\p{L}\p{N}_'’]+\s*|[^\p{L}\p{N}_'’]\s*/gu) ?? [];
}

/**
 * The pieces of two texts, by the longest common subsequence of their words. Null if the texts are too long to compare.
 * @param {string} first
 * @param {string} second
 * @returns {Piece[] | null}
 */
export function wordDiff(first, second) {
  const a = words(first);
  const b = words(second);
  /** @param {string | undefined} word */
  const bare = (word) => word?.trimEnd();
  let start = 0;
  while (start < a.length && start < b.length && bare(a[start]) === bare(b[start])) start++;
  let end = 0;
  while (end < a.length - start && end < b.length - start && bare(a[a.length - 1 - end]) === bare(b[b.length - 1 - end])) end++;
  const rows = a.length - start - end;
  const columns = b.length - start - end;
  if (rows * columns > MOST_COMPARISONS) return null;
  // common[i][j]: the length of the longest common subsequence of a from word i and b from word j.
  const width = columns + 1;
  const common = new Uint16Array((rows + 1) * width);
  for (let i = rows - 1; i >= 0; i--) {
    for (let j = columns - 1; j >= 0; j--) {
      common[i * width + j] =
        bare(a[start + i]) === bare(b[start + j])
          ? (common[(i + 1) * width + j + 1] ?? 0) + 1
          : Math.max(common[(i + 1) * width + j] ?? 0, common[i * width + j + 1] ?? 0);
    }
  }
  /** @type {Piece[]} */
  const pieces = [];
  /** @param {Piece["in"]} where @param {string} inA @param {string} inB */
  const put = (where, inA, inB) => {
    const last = pieces.at(-1);
    if (last?.in === where) {
      last.a += inA;
      last.b += inB;
    } else if (inA || inB) {
      pieces.push({ in: where, a: inA, b: inB });
    }
  };
  put("same", a.slice(0, start).join(""), b.slice(0, start).join(""));
  let i = 0;
  let j = 0;
  while (i < rows || j < columns) {
    const wordA = a[start + i] ?? "";
    const wordB = b[start + j] ?? "";
    if (i < rows && j < columns && bare(wordA) === bare(wordB)) {
      put("same", wordA, wordB);
      i++;
      j++;
    } else if (j >= columns || (i < rows && (common[(i + 1) * width + j] ?? 0) >= (common[i * width + j + 1] ?? 0))) {
      put("a", wordA, "");
      i++;
    } else {
      put("b", "", wordB);
      j++;
    }
  }
  put("same", a.slice(a.length - end).join(""), b.slice(b.length - end).join(""));
  return pieces;
}
