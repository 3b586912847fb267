// Splits texts as `elmo_keras.split_words` does, by its rules: see text/word_rules.py.
const MARK = "\x1f";

export function splitter(rules) {
  const compiled = rules.map(([pattern, replacement]) =>
    [new RegExp(pattern, "gu"), replacement.replace(/\\(\d)/g, (_, n) => n === "0" ? "$&" : `$${n}`)]);
  return text => compiled
    .reduce((marked, [pattern, replacement]) => marked.replace(pattern, replacement), text.replaceAll(MARK, " "))
    .split(MARK).filter((part, i) => i % 2 && part);
}
