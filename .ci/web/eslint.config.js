import js from "@eslint/js";
import globals from "globals";

// What a model said is text: nothing in the page may read it as HTML, as a style or as code.
const asMarkup = ["innerHTML", "outerHTML", "insertAdjacentHTML", "write", "writeln", "setHTMLUnsafe", "createContextualFragment"];

export default [
  js.configs.recommended,
  {
    files: ["js/*.js"],
    languageOptions: { ecmaVersion: 2024, sourceType: "module", globals: globals.browser },
    linterOptions: { reportUnusedDisableDirectives: "error" },
    rules: {
      "array-callback-return": "error",
      curly: ["error", "multi-line"],
      eqeqeq: "error",
      "no-eval": "error",
      "no-implied-eval": "error",
      "no-new-func": "error",
      "no-restricted-properties": ["error", ...asMarkup.map((property) => ({ property, message: "text goes in by textContent" }))],
      "no-restricted-syntax": [
        "error",
        { selector: "ExportDefaultDeclaration, ExportAllDeclaration, ImportDefaultSpecifier, ImportNamespaceSpecifier, ImportExpression", message: "modules are joined into one script: named imports and exports only" },
      ],
      "no-useless-rename": "error",
      "no-var": "error",
      "object-shorthand": "error",
      "prefer-const": "error",
    },
  },
];
