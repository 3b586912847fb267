// The page: sentences, a chosen word, and what the worker computes of them.
import {splitter} from "./words.mjs";

const MOST_SENTENCES = 20, MOST_WORDS = 60, NEAREST = 8, TOP = 10;
const $ = id => document.getElementById(id);
const json = name => fetch(name).then(response => response.json()).catch(() => null);
const shown = new URLSearchParams(location.search).get("lang") ?? navigator.language.slice(0, 2);
const [about, korean] = await Promise.all([json("models.json"), shown === "ko" ? json("korean.json") : null]);

const tokens = about && splitter(about.wordRules);
let language, names = [], sentences = [], chosen = [0, 0], layer = 0;
const loaded = new Set(); // jobs that fetched more for this language
let worker, version = 0, vectorsOf = new Map(), points = new Map();

function element(tag, properties = {}, ...children) {
  const made = Object.assign(document.createElement(tag), properties);
  made.append(...children);
  return made;
}

// The page's text in the reader's language; {0}, {1}, … are the values.
const tr = (text, ...values) => (korean?.[text] ?? text).replace(/\{(\d)\}/g, (_, i) => values[i]);

function translate() {
  const texts = document.createTreeWalker(document.documentElement, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    const node = texts.currentNode, text = node.data.trim().replace(/\s+/g, " ");
    if (text) node.data = node.data.replace(node.data.trim(), () => tr(text));
  }
  for (const node of document.querySelectorAll("[aria-label]")) node.ariaLabel = tr(node.ariaLabel);
  document.documentElement.lang = korean ? "ko" : "en";
  Object.assign($("language"), korean ? {href: "?lang=en", lang: "en", textContent: "English"} : {});
  if (korean) $("home").href = "../ko/index.html";
}

const percent = p => `${(p * 100).toLocaleString("en", {maximumSignificantDigits: 2})} %`;
const megabytes = bytes => `${(bytes / 1e6).toFixed(1)} MB`;
const say = text => { $("status").textContent = text; };
const fail = text => { $("error").textContent = tr(text); };
const isSame = (a, b) => a.toLowerCase() === b.toLowerCase();

// The worker's answers.

const waiting = new Map();
let asked = 0;

function ask(job, rest = {}, report = () => {}) {
  if (!worker) {
    worker = new Worker("worker.js");
    worker.onmessage = ({data}) => {
      const {resolve, reject, report} = waiting.get(data.id) ?? {};
      if (!resolve) return; // the other file of a job that failed
      if (data.bytes) return report(data.bytes);
      waiting.delete(data.id);
      "error" in data ? reject(Error(data.error)) : resolve(data.result);
    };
    worker.onerror = () => {
      for (const {reject} of waiting.values()) reject(Error("A part of the page could not be started. Reload it."));
      waiting.clear();
      worker = undefined;
    };
  }
  return new Promise((resolve, reject) => {
    waiting.set(++asked, {resolve, reject, report});
    worker.postMessage({id: asked, job, ...rest});
  });
}

async function fetching(button, job, file, bytes) {
  fail("");
  const buttons = document.querySelectorAll("#models button, #substitutes button, #labels button");
  buttons.forEach(b => { b.disabled = true; });
  Object.assign($("bar"), {max: bytes, value: 0});
  $("progress").hidden = false;
  say(tr("Loading {0}.", megabytes(bytes)));
  try {
    await ask(job, {file}, n => { $("bar").value += n; });
    return true;
  } catch (error) {
    say("");
    fail(error.message);
    return false;
  } finally {
    $("progress").hidden = true;
    buttons.forEach(b => { b.disabled = false; });
    button.focus();
  }
}

// Shows a button that loads what `show` needs.
function offer(target, job, name, file, bytes, show) {
  const button = element("button", {type: "button"}, tr("Load {0} ({1})", name, megabytes(bytes)));
  button.onclick = async () => {
    if (!await fetching(button, job, file, bytes)) return;
    loaded.add(job);
    await show();
    say(tr("Loaded {0}.", name));
    target.focus();
  };
  target.replaceChildren(button);
}

// Loading.

function showModels() {
  const isFirst = language === undefined;
  $("models").replaceChildren(...languages()
    .filter(([key]) => key !== language)
    .map(([key, {name, bytes}]) => {
      const size = megabytes(bytes + (isFirst ? about.runtimeBytes : 0));
      const button = element("button", {type: "button"}, tr("Load {0} ({1})", name, size));
      button.onclick = () => load(key, button);
      return button;
    }));
}

// That of the reader first.
const languages = () => Object.entries(about.languages).sort(([a], [b]) => (b === shown) - (a === shown));

async function load(key, button) {
  const {name, file, bytes, examples} = about.languages[key];
  const size = bytes + (language === undefined ? about.runtimeBytes : 0);
  const begin = performance.now();
  if (!await fetching(button, "load", file, size)) return;
  language = key;
  loaded.clear();
  vectorsOf = new Map();
  showModels();
  $("opening").hidden = true;
  $("work").hidden = false;
  $("tabs").hidden = !about.languages[key].headFile;
  $("answers-tab").hidden = !about.languages[key].answers;
  choosePanel("word");
  for (const id of ["text", "words", "uses", "near", "substitutes", "labels"]) $(id).lang = key;
  $("examples").replaceChildren(...examples.map(example => {
    const button = element("button", {type: "button", lang: key}, example.word);
    button.onclick = () => take(example);
    return button;
  }));
  await take(examples[0]);
  say(tr("{0} is ready after {1} s.", name, ((performance.now() - begin) / 1e3).toFixed(1)));
  $("sentences-title").focus();
}

function take({word, sentences}) {
  $("text").value = sentences.join("\n");
  $("text").rows = sentences.length + 1;
  return update([0, tokens(sentences[0]).findIndex(token => isSame(token, word))]);
}

// Sentences.

async function update(choice = chosen) {
  const mine = ++version;
  const lines = $("text").value.split("\n").filter(line => tokens(line).length), read = lines.map(tokens);
  const long = read.findIndex(s => s.length > MOST_WORDS);
  fail(read.length > MOST_SENTENCES ? tr("The page takes {0} sentences at most. You have {1}.", MOST_SENTENCES, read.length)
    : long >= 0 ? tr("Sentence {0} has {1} words. The page takes {2} at most.", long + 1, read[long].length, MOST_WORDS)
    : !read.length ? "Type a sentence first." : "");
  if ($("error").textContent) return;
  const old = vectorsOf;
  try {
    const made = new Map();
    for (const words of read) {
      const key = words.join(" ");
      made.set(key, made.get(key) ?? old.get(key) ?? await ask("encode", {tokens: words}));
      if (mine !== version) return;
    }
    vectorsOf = made;
  } catch (error) {
    return fail(error.message);
  }
  sentences = read.map((words, i) => ({line: lines[i], words, vectors: vectorsOf.get(words.join(" "))}));
  const n = sentences[0].vectors.length / sentences[0].words.length;
  showLayers(n / (2 * about.languages[language].dim));
  const [s, t] = choice, has = sentences[s]?.words[t] !== undefined;
  showWords();
  choose(...(has ? choice : [0, 0]));
}

function vector(s, t, layer) {
  const {words, vectors} = sentences[s], size = vectors.length / words.length / names.length;
  const first = (layer * words.length + t) * size;
  return vectors.subarray(first, first + size);
}

const dot = (a, b) => a.reduce((sum, x, i) => sum + x * b[i], 0);
const cosine = (a, b) => dot(a, b) / Math.sqrt(dot(a, a) * dot(b, b));

function showLayers(count) {
  if (names.length === count) return;
  names = [...Array(count - 1).keys(), "mean"].map(String);
  layer = names.length - 2;
  $("layers").replaceChildren($("layers").firstElementChild, ...names.map((name, i) => {
    const input = element("input", {type: "radio", name: "layer", checked: i === layer});
    input.onchange = () => { layer = i; show(); };
    return element("label", {}, input, tr(name));
  }));
}

// Words: one of them is in the order of Tab, arrow keys move between them.

function showWords() {
  $("words").replaceChildren(...sentences.map(({words}, s) => element("p", {},
    number(s),
    ...words.map((word, t) => {
      const button = element("button", {type: "button", tabIndex: -1}, word);
      button.onclick = () => choose(s, t);
      button.dataset.place = `${s} ${t}`;
      return button;
    }))));
}

$("words").onkeydown = event => {
  const steps = {ArrowRight: [0, 1], ArrowLeft: [0, -1], ArrowDown: [1, 0], ArrowUp: [-1, 0]};
  const step = steps[event.key], place = event.target.dataset.place;
  if (!step || !place) return;
  event.preventDefault();
  const all = [...$("words").querySelectorAll("button")], [s, t] = place.split(" ").map(Number);
  const words = sentences[s + step[0]]?.words;
  const next = step[1] ? all[all.indexOf(event.target) + step[1]]
    : words && button(s + step[0], Math.min(t, words.length - 1));
  next?.focus();
};

const button = (s, t) => $("words").querySelector(`[data-place="${s} ${t}"]`);

function choose(s, t) {
  chosen = [s, t];
  const word = sentences[s].words[t];
  for (const b of $("words").querySelectorAll("button")) {
    b.tabIndex = -1;
    b.setAttribute("aria-pressed", "false");
    b.classList.toggle("same", isSame(b.textContent, word));
  }
  button(s, t).tabIndex = 0;
  button(s, t).setAttribute("aria-pressed", "true");
  points = new Map();
  show();
}

// Results.

function show() {
  const [s, t] = chosen, word = sentences[s].words[t], own = names.map((_, l) => vector(s, t, l));
  const all = sentences.flatMap(({words}, i) => words.map((other, j) => ({
    s: i, t: j, word: other, cosines: names.map((_, l) => cosine(own[l], vector(i, j, l)))})));
  const others = all.filter(use => use.s !== s || use.t !== t).sort((a, b) => b.cosines[layer] - a.cosines[layer]);
  const uses = others.filter(use => isSame(use.word, word));
  $("result-title").replaceChildren(element("span", {lang: language}, `“${word}”`), ` ${tr("in sentence {0}", s + 1)}`);
  $("summary").textContent = !uses.length ? tr("It occurs once.")
    : tr("It occurs {0} times; the nearest is in sentence {1} (cosine {2}, layer {3}).", uses.length + 1, uses[0].s + 1, uses[0].cosines[layer].toFixed(2), tr(names[layer]));
  $("uses").replaceChildren(uses.length ? table(uses) : tr("Type another sentence with this word."));
  $("near").replaceChildren(...others.slice(0, NEAREST).map(use => element("li", {},
    element("span", {className: "value"}, use.cosines[layer].toFixed(2)), ...context(use))));
  showPlane([...uses, {s, t}].sort((a, b) => a.s - b.s || a.t - b.t));
  showSubstitutes();
  showLabels();
}

const number = s => element("span", {className: "number"}, String(s + 1));

function context({s, t}) {
  const {words} = sentences[s], first = Math.max(0, t - 3), last = t + 4;
  const before = `${first ? "… " : ""}${words.slice(first, t).join(" ")} `;
  const after = ` ${words.slice(t + 1, last).join(" ")}${last < words.length ? " …" : ""}`;
  return [number(s), before, element("mark", {}, words[t]), after];
}

function table(uses) {
  const head = ["Sentence", ...names].map((name, i) => element("th", {scope: "col", className: i - 1 === layer ? "chosen" : ""}, tr(name)));
  const rows = uses.map(use => element("tr", {}, element("th", {scope: "row"}, ...context(use)),
    ...use.cosines.map((x, l) => {
      const cell = element("td", {className: l === layer ? "chosen" : ""}, x.toFixed(2));
      cell.style.setProperty("--part", `${Math.max(0, x) * 100}%`);
      return cell;
    })));
  const made = element("table", {}, element("thead", {}, element("tr", {}, ...head)), element("tbody", {}, ...rows));
  made.setAttribute("aria-labelledby", "uses-title");
  return made;
}

// The two directions in which unit vectors differ most, by power iteration on the products
// of their differences from the mean, which follow from their cosines.
function plane(cosines) {
  const n = cosines.length, means = cosines.map(row => row.reduce((a, b) => a + b) / n);
  const mean = means.reduce((a, b) => a + b) / n;
  const products = cosines.map((row, i) => row.map((x, j) => x - means[i] - means[j] + mean));
  const total = products.reduce((sum, row, i) => sum + row[i], 0);
  const axes = [0, 1].map(a => {
    let axis = products.map((_, i) => Math.sin(i + 1)), value = 0;
    for (let round = 0; round < 200; round++) {
      const next = products.map(row => dot(row, axis));
      value = Math.sqrt(dot(next, next));
      if (value < 1e-9) return axis.fill(0);
      axis = next.map(x => x / value);
    }
    products.forEach((row, i) => row.forEach((_, j) => { row[j] -= value * axis[i] * axis[j]; }));
    // The first use is on the left, the one farthest from the middle above it.
    const farthest = axis.reduce((x, y) => Math.abs(y) > Math.abs(x) ? y : x);
    const sign = a === 0 ? -Math.sign(axis[0]) : Math.sign(farthest);
    return axis.map(x => x * Math.sqrt(value) * (sign || 1));
  });
  return {axes, total, part: axes.reduce((sum, a) => sum + dot(a, a), 0) / total};
}

// The classes of uses: two colours, for the two sides of the plane.
const sides = ({axes}) => axes[0].map(x => x < 0 ? "one" : "other");

// Moves points apart that are closer than their numbers are wide.
function spread(places, least) {
  for (let round = 0; round < 50; round++) {
    places.forEach((a, i) => places.slice(0, i).forEach(b => {
      const [x, y] = [a[0] - b[0] || 0.01, a[1] - b[1]], distance = Math.hypot(x, y);
      const move = Math.max(0, least - distance) / 2 / distance;
      [a[0], a[1]] = [a[0] + x * move, a[1] + y * move];
      [b[0], b[1]] = [b[0] - x * move, b[1] - y * move];
    }));
  }
}

// Draws the uses; `groups` are names of classes, and `keys` say which points move on.
function draw({axes}, labels, groups, keys) {
  const [width, height, edge] = [320, 220, 24], ns = "http://www.w3.org/2000/svg";
  const room = [width / 2 - edge, height / 2 - edge];
  const scale = Math.min(...axes.map((axis, i) => room[i] / Math.max(1e-9, ...axis.map(Math.abs))));
  const places = labels.map((_, i) => [width / 2 + axes[0][i] * scale, height / 2 - axes[1][i] * scale]);
  spread(places, 23);
  const svg = document.createElementNS(ns, "svg");
  svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
  svg.setAttribute("role", "img");
  svg.setAttribute("aria-label", tr("Points of {0} uses, by their first two principal components. Sentences with a high cosine lie close together.", labels.length));
  for (const [i, label] of labels.entries()) {
    const g = document.createElementNS(ns, "g");
    const [x, y] = places[i].map(at => at.toFixed(1)), to = `translate(${x}px, ${y}px)`;
    g.setAttribute("class", groups[i]);
    g.style.transform = points.get(keys[i]) ?? to;
    points.set(keys[i], to);
    g.innerHTML = `<circle r="11"/><text>${label}</text>`;
    svg.append(g);
    requestAnimationFrame(() => { g.style.transform = to; });
  }
  return svg;
}

function showPlane(uses) {
  if (uses.length < 3) return $("plane").replaceChildren(tr("It takes at least three sentences with the word."));
  const vectors = uses.map(({s, t}) => vector(s, t, layer));
  const found = plane(vectors.map(a => vectors.map(b => cosine(a, b)))), {total, part} = found;
  if (total < 1e-3) return $("plane").replaceChildren(tr("All uses are one point: this layer sees the word alone."));
  const groups = sides(found).map((side, i) => uses[i].s === chosen[0] && uses[i].t === chosen[1] ? `${side} chosen` : side);
  const svg = draw(found, uses.map(({s}) => s + 1), groups, uses.map(({s, t}) => `${s} ${t}`));
  $("plane").replaceChildren(svg, element("p", {className: "note"},
    tr("The numbers are those of the sentences, moved apart where they touch. The plane holds {0} % of the differences in layer {1}.", Math.round(part * 100), tr(names[layer]))));
}

async function showSubstitutes() {
  const {softmaxFile, softmaxBytes} = about.languages[language], [s, t] = chosen, target = $("substitutes");
  if (!softmaxFile) return target.replaceChildren(tr("This model has no softmax."));
  if (!loaded.has("loadWords")) {
    return offer(target, "loadWords", tr("the words of the language model"), softmaxFile, softmaxBytes, showSubstitutes);
  }
  const key = `${sentences[s].words.join(" ")} ${t}`;
  if (target.dataset.of === key && target.querySelector("ol")) return;
  target.dataset.of = key;
  const found = await ask("substitutes", {tokens: sentences[s].words, position: t, top: TOP}).catch(error => fail(error.message));
  if (found && target.dataset.of === key) {
    target.replaceChildren(element("ol", {}, ...found.map(([word, p]) => element("li", {},
      element("span", {className: "value"}, percent(p)), word))));
  }
}

// What heads find: entities, parts of speech, roles, sentiment.

const PANELS = ["word", "labels", "answers"];
const TYPES = {
  PER: "person", ORG: "organisation", LOC: "place",
  PS: "person", OG: "organisation", LC: "place", DT: "date", TI: "time", QT: "quantity",
};

function choosePanel(name) {
  for (const id of PANELS) {
    const isChosen = id === name;
    $(id).hidden = !isChosen;
    $(`${id}-tab`).setAttribute("aria-selected", String(isChosen));
    $(`${id}-tab`).tabIndex = isChosen ? 0 : -1;
  }
  $("choice").hidden = name !== "word"; // a word and a layer are for the vectors alone
}

for (const id of PANELS) $(`${id}-tab`).onclick = () => { choosePanel(id); showLabels(); showAnswers(); };
$("tabs").onkeydown = ({key, target}) => {
  const panels = PANELS.filter(id => !$(`${id}-tab`).hidden), at = panels.indexOf(target.id.split("-")[0]);
  const to = {ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: -1}[key];
  if (to === undefined) return;
  const tab = $(`${panels.at(to % panels.length)}-tab`);
  tab.click();
  tab.focus();
};

async function showLabels() {
  const {headFile, headBytes, labelRules} = about.languages[language], target = $("labels");
  if (!headFile || target.hidden) return;
  if (!loaded.has("loadHeads")) return offer(target, "loadHeads", tr("the models of labels"), headFile, headBytes, showLabels);
  const mine = version, rows = [], types = new Set(), split = splitter(labelRules);
  for (const [s, sentence] of sentences.entries()) {
    const words = split(sentence.line); // as the taggers' treebank
    const found = await ask("label", {tokens: words, words: sentence.words}).catch(error => fail(error.message));
    if (!found || mine !== version) return;
    rows.push(element("p", {lang: language}, number(s), ...labelled(words, found)));
    const [best] = found.labels ?? [];
    if (best) rows.push(element("p", {className: "note"}, `${tr(best[0])} (${percent(best[1])})`));
    for (const {predicate, tags} of found.frames ?? []) {
      const roles = spans(tags).map(([first, end, role]) =>
        element("span", {}, words.slice(first, end).join(" "), " ", element("b", {}, role)));
      rows.push(element("p", {className: "frame", lang: language}, element("i", {}, words[predicate]), ...roles));
    }
    for (const [, , type] of spans(found.entities ?? [])) types.add(type);
  }
  const legend = [...types].map(type => element("mark", {}, tr(TYPES[type] ?? type), " ", element("b", {}, type)));
  legend.forEach((mark, i) => { mark.dataset.type = [...types][i]; });
  target.replaceChildren(...rows, element("p", {className: "note"}, ...legend.flatMap(mark => [mark, " "])));
}

// Shows the panel of questions, or what loads it.
function showAnswers() {
  const {headFile, headBytes} = about.languages[language], target = $("answers");
  if (target.hidden) return;
  const isLoaded = loaded.has("loadHeads");
  $("ask").hidden = !isLoaded;
  $("questions").replaceChildren(...about.languages[language].examples.flatMap(example => (example.questions ?? []).map(question => {
    const button = element("button", {type: "button", lang: language}, question);
    button.onclick = async () => {
      if ($("text").value !== example.sentences.join("\n")) await take(example);
      $("question").value = question;
      $("ask").requestSubmit();
    };
    return button;
  })));
  if (isLoaded) $("loader").replaceChildren();
  else offer($("loader"), "loadHeads", tr("the models of labels"), headFile, headBytes, showAnswers);
}

$("ask").onsubmit = async event => {
  event.preventDefault();
  const words = sentences.flatMap(sentence => sentence.words), question = tokens($("question").value);
  if (!question.length) return;
  const found = await ask("answer", {question, tokens: words}).catch(error => fail(error.message));
  if (found) $("answer").replaceChildren(element("b", {lang: language}, words.slice(found.first, found.last + 1).join(" ")), ` (${percent(found.score)})`);
};

// First token, end and type of each span that tags mark.
function spans(tags) {
  const found = [];
  tags.forEach((tag, t) => {
    const begin = tag.slice(0, 1), type = tag.slice(2), last = found.at(-1);
    if (begin === "I" && last?.[1] === t && last[2] === type) last[1] = t + 1;
    else if (begin !== "O" && type !== "V") found.push([t, t + 1, type]);
  });
  return found;
}

// Words above their parts of speech, without punctuation's; entities in marks with their types.
function labelled(words, {parts, entities = []}) {
  const nodes = words.map((word, t) => parts && /[\p{L}\p{N}]/u.test(word)
    ? element("ruby", {}, word, element("rt", {}, parts[t])) : word);
  for (const [first, end, type] of spans(entities).reverse()) {
    const inside = nodes.slice(first, end).flatMap(node => [node, " "]);
    const mark = element("mark", {}, ...inside, element("b", {}, type));
    mark.dataset.type = type;
    nodes.splice(first, end - first, mark);
  }
  return nodes.flatMap(node => [node, " "]);
}

// The start: a word's uses, computed when the page was built.

function showOpening() {
  $("opening").replaceChildren(...languages().map(([key, {name, opening}]) => {
    const {word, texts, places, cosines} = opening, found = plane(cosines);
    const groups = sides(found);
    const uses = texts.map((words, s) => element("p", {className: groups[s], lang: key}, number(s),
      `${words.slice(0, places[s]).join(" ")} `, element("mark", {}, words[places[s]]), ` ${words.slice(places[s] + 1).join(" ")}`));
    points = new Map();
    return element("section", {},
      element("h2", {}, element("span", {lang: key}, `“${word}”`), ` ${tr("in {0} sentences", texts.length)}`),
      draw(found, texts.map((_, s) => s + 1), groups, texts.map(String)), ...uses);
  }), element("p", {className: "note"},
    tr("Each number stands for one sentence; its position is the word's vector in layer 2, projected to two dimensions. The two colours are the two sides of the plane. Load a model to try sentences of your own.")));
}

let timer;
$("text").oninput = () => {
  clearTimeout(timer);
  timer = setTimeout(update, 300);
};
translate();
navigator.serviceWorker?.register("sw.js").catch(() => {}); // for a reload without a network
if (typeof WebAssembly !== "object" || typeof DecompressionStream !== "function") {
  say("");
  fail("This page needs WebAssembly and DecompressionStream: use a newer browser.");
} else if (!about) {
  say("");
  fail("models.json could not be fetched. Reload the page.");
} else {
  showModels();
  showOpening();
}
