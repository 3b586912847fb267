// ELMo in a worker: words to vectors, as elmo_keras/lite/engine.py computes them, the
// softmax, and taggers. A classic worker: the runtime calls importScripts.
import {loadAndCompile, loadLiteRt, supportsFeature, Tensor} from "@litertjs/core";

const BEGIN = "<S>", END = "</S>", KNOWN_MOST = 20000;
let runtime, model, softmax, heads = [];

async function fetched(name, report) {
  const response = await fetch(name).catch(() => null);
  if (!response?.ok) throw Error("A file could not be fetched. Check the connection and try again.");
  const reader = response.body.getReader(), pieces = [];
  for (let next; !(next = await reader.read().catch(() => ({lost: true}))).done;) {
    if (next.lost) throw Error("The connection was lost. Try again.");
    pieces.push(next.value);
    report(next.value.length);
  }
  const body = new Blob(pieces).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Uint8Array(await new Response(body).arrayBuffer());
}

function unpacked(bytes) {
  const length = new DataView(bytes.buffer).getUint32(0, true) + 4;
  const about = JSON.parse(new TextDecoder().decode(bytes.subarray(4, length)));
  for (const [name, [start, size]] of Object.entries(about.parts)) {
    about.parts[name] = bytes.slice(length + start, length + start + size);
  }
  return about;
}

const floats = bytes => bytes && new Float32Array(bytes.buffer);

async function load({file}, report) {
  const relaxed = await supportsFeature("relaxedSimd");
  const name = relaxed ? "litert_wasm_internal" : "litert_wasm_compat_internal";
  const [about, wasm] = await Promise.all([
    fetched(file, report).then(unpacked), runtime ?? fetched(`${name}.bin`, report)]);
  if (!runtime) {
    self.Module = {wasmBinary: wasm, print: console.debug, printErr: console.debug};
    await loadLiteRt(new URL(`${name}.js`, location.href).href);
    runtime = true;
  }
  for (const graph of Object.values(model?.graphs ?? {})) graph.delete();
  for (const graph of heads.flatMap(head => head.graphs)) graph.delete();
  model = softmax = undefined;
  heads = [];
  const {parts, config, steps, words} = about, graphs = {};
  for (const part of ["forward", "backward", "tokens"]) {
    graphs[part] = await loadAndCompile(parts[part], {accelerator: "wasm"});
  }
  model = {config, steps, words, graphs, table: floats(parts.characters), known: new Map()};
  await encode({tokens: []}); // the first run of a graph takes longer
}

// A word's ids: elmo_keras/text/characters.py.
function ids(word) {
  const {max_characters_per_token: length, unicode_normalization: form, cut_at} = model.config;
  const ids = new Int32Array(length).fill(261);
  let bytes = new TextEncoder().encode(form ? word.normalize(form) : word);
  if (bytes.length > length - 2) {
    const limit = length - 2, first = cut_at === "character" ? Math.max(limit - 3, 0) : limit;
    const continues = place => (bytes[place] & 0xc0) === 0x80;
    let end = limit;
    while (end > first && continues(end)) end--;
    bytes = bytes.subarray(0, continues(end) ? limit : end);
  }
  const content = word === BEGIN ? [257] : word === END ? [258] : Array.from(bytes, b => b + 1);
  ids.set([259, ...content, 260]);
  return ids;
}

async function run(graph, signature, arrays, kept = {}) {
  const given = Object.fromEntries(
    Object.entries(arrays).map(([name, a]) => [name, new Tensor(a, [a.length])]));
  const outputs = await graph.run(signature, {...given, ...kept});
  for (const tensor of Object.values(given)) tensor.delete();
  return outputs;
}

function taken(tensor) {
  const array = tensor.toTypedArray().slice();
  tensor.delete();
  return array;
}

async function wordVectors(words) {
  const {known, config, table, graphs} = model, {projection_dim: dim} = config;
  const characters = config.max_characters_per_token, width = config.char_embedding_dim;
  if (known.size > KNOWN_MOST) known.clear();
  const fresh = [...new Set(words)].filter(word => !known.has(word));
  for (let first = 0; first < fresh.length; first += model.words) {
    const some = fresh.slice(first, first + model.words);
    const x = new Float32Array(model.words * characters * width);
    some.forEach((word, row) => ids(word).forEach((id, place) =>
      x.set(table.subarray(id * width, (id + 1) * width), (row * characters + place) * width)));
    const {y} = await run(graphs.tokens, `w${model.words}_${characters}`, {characters: x});
    const vectors = taken(y);
    some.forEach((word, row) => known.set(word, vectors.slice(row * dim, (row + 1) * dim)));
  }
  return words.map(word => known.get(word));
}

// Outputs (steps, dim) of each layer of one direction. The state stays in WebAssembly.
async function outputs(graph, vectors, {steps, layers: n, dim, units}) {
  const layers = Array.from({length: n}, () => []), state = {}, width = vectors[0].length;
  for (let i = 0; i < n; i++) {
    state[`h${i}`] = new Tensor(new Float32Array(dim), [dim]);
    state[`c${i}`] = new Tensor(new Float32Array(units), [units]);
  }
  for (let first = 0; first < vectors.length; first += steps) {
    const x = new Float32Array(steps * width), some = vectors.slice(first, first + steps);
    some.forEach((vector, step) => x.set(vector, step * width));
    const result = await run(graph, `r1_${steps}`, {x}, state);
    for (const tensor of Object.values(state)) tensor.delete();
    for (let i = 0; i < n; i++) {
      [state[`h${i}`], state[`c${i}`]] = [result[`H${i}`], result[`C${i}`]];
      const y = taken(result[`y${i}`]), size = y.length / steps;
      some.forEach((_, step) => layers[i].push(y.subarray(step * size, (step + 1) * size)));
    }
  }
  for (const tensor of Object.values(state)) tensor.delete();
  return layers;
}

async function directions([forward, backward], x, sizes) {
  const ahead = await outputs(forward, x, sizes), back = await outputs(backward, x.toReversed(), sizes);
  return {x, forward: ahead, backward: back.map(layer => layer.toReversed())};
}

async function languageModel(tokens) {
  const {steps, graphs, config: {projection_dim: dim, units, n_layers: layers}} = model;
  const x = await wordVectors([BEGIN, ...tokens, END]);
  return directions([graphs.forward, graphs.backward], x, {steps, layers, dim, units});
}

// Vectors (layers + 1, tokens, 2 dim): each layer, and at the end their mean.
async function encode({tokens}) {
  const {x, forward, backward} = await languageModel(tokens);
  const n = model.config.n_layers + 1, dim = model.config.projection_dim;
  const size = tokens.length * 2 * dim, vectors = new Float32Array((n + 1) * size);
  [[x, x], ...forward.map((layer, i) => [layer, backward[i]])].forEach((halves, layer) =>
    tokens.forEach((_, t) => halves.forEach((half, side) =>
      vectors.set(half[t + 1], layer * size + (2 * t + side) * dim))));
  for (let i = 0; i < n * size; i++) vectors[n * size + (i % size)] += vectors[i] / n;
  return vectors;
}

async function loadWords({file}, report) {
  const {words, special, parts} = unpacked(await fetched(file, report));
  const kernel = new Int8Array(parts.kernel.buffer);
  softmax = {words, special, kernel, scales: floats(parts.scales), bias: floats(parts.bias)};
}

function logProbabilities(vector) {
  const {kernel, scales, bias} = softmax, dim = vector.length;
  const logits = bias.map((shift, word) => {
    let sum = 0;
    for (let i = 0, at = word * dim; i < dim; i++) sum += kernel[at + i] * vector[i];
    return sum * scales[word] + shift;
  });
  return normalised(logits);
}

function normalised(logits) {
  const most = logits.reduce((a, b) => Math.max(a, b));
  const total = most + Math.log(logits.reduce((sum, x) => sum + Math.exp(x - most), 0));
  return logits.map(x => x - total);
}

// The likeliest words by the tokens before and those after: LanguageModel.substitutes. Words are
// in the order of their frequency: ZIPF_SHIFT of elmo_keras/text/vocabulary.py.
async function substitutes({tokens, position, top}) {
  const {forward, backward} = await languageModel(tokens);
  const ahead = logProbabilities(forward.at(-1)[position]);
  const back = logProbabilities(backward.at(-1)[position + 2]);
  const special = new Set(softmax.special), own = tokens[position].toLowerCase();
  const both = normalised(ahead.map((x, i) => special.has(i) ? -Infinity : x + back[i] + Math.log(i + 2.7)));
  return Array.from(both.keys()).filter(i => !special.has(i) && softmax.words[i].toLowerCase() !== own)
    .sort((a, b) => both[b] - both[a]).slice(0, top)
    .map(i => [softmax.words[i], Math.exp(both[i])]);
}

// Heads: elmo_keras/heads/tagger/light.py, with the best tags only.
async function loadHeads({file}, report) {
  const {heads: found, parts} = unpacked(await fetched(file, report)), made = [];
  for (const [i, head] of found.entries()) {
    const part = name => parts[`${name} ${i}`], graphs = [];
    for (const name of head.lstms) graphs.push(await loadAndCompile(part(name), {accelerator: "wasm"}));
    const ids = new Map(head.words.map((word, row) => [word, row + 1]));
    const arrays = [...head.floats.map(name => [name, floats(part(name))]),
      ...head.bytes.map(name => [name, new Int8Array(part(name).buffer)])];
    made.push({...head, ...Object.fromEntries(arrays), graphs, ids});
  }
  heads = made;
}

// The mix of a token's layers.
function mixed(layers, t, {mix, layer_norm: isNormal}) {
  const width = 2 * model.config.projection_dim, y = new Float32Array(width);
  const size = layers.length / (mix.length + 1); // the last one is the mean of the layers
  mix.forEach((weight, layer) => {
    let x = layers.subarray(layer * size + t * width, layer * size + (t + 1) * width);
    if (isNormal) {
      const mean = x.reduce((a, b) => a + b) / width;
      x = x.map(value => value - mean);
      const deviation = Math.sqrt(x.reduce((sum, value) => sum + value * value, 0) / width + 1e-12);
      x = x.map(value => value / deviation);
    }
    x.forEach((value, i) => { y[i] += weight * value; });
  });
  return y;
}

const joined = arrays => Float32Array.of(...arrays.flatMap(array => [...array]));

// The inputs of a head's first LSTMs; the token at `predicate` is marked.
function vectorsOf(head, tokens, layers, predicate) {
  const {ids, vectors, vectorsScales: scales, predicates} = head, width = predicates.length / 2;
  return tokens.map((token, t) => {
    const row = (ids.get(token.toLowerCase()) ?? 0) * scales.length, mark = width * (t === predicate);
    return joined([scales.map((scale, i) => vectors[row + i] * scale), mixed(layers, t, head),
      predicates.subarray(mark, mark + width)]);
  });
}

// The outputs of both LSTMs, token by token; `first` is the place of the forward one.
async function read(head, first, x) {
  const sizes = {steps: model.steps, layers: 1, dim: head.units, units: head.units};
  const {forward: [ahead], backward: [back]} = await directions(head.graphs.slice(first, first + 2), x, sizes);
  return x.map((_, t) => [ahead[t], back[t]]);
}

async function tags(head, tokens, layers, predicate) {
  const outputs = await read(head, 0, vectorsOf(head, tokens, layers, predicate));
  const scores = outputs.map(([ahead, back]) => head.tags.map((_, k) => ahead[k] + back[k] + head.bias[k]));
  return bestPath(scores, head).map(k => head.tags[k]);
}

// What each head finds in a sentence: by its `finds` tags, frames of predicates, or labels.
// A text's labels are found in its `words`, as the model splits them.
async function label({tokens, words}) {
  const layers = await encode({tokens}), found = {};
  for (const head of heads) {
    if (head.finds === "labels") found.labels = await probabilities(head, words, await encode({tokens: words}));
    else if (head.finds === "frames") {
      found.frames = [];
      for (const [predicate, tag] of found.predicates.entries()) {
        if (tag[0] === "B") found.frames.push({predicate, tags: await tags(head, tokens, layers, predicate)});
      }
    } else if (head.finds !== "answers") found[head.finds] = await tags(head, tokens, layers);
  }
  return found;
}

// The biattentive classification network.
async function probabilities(head, tokens, layers) {
  const {labels, units} = head;
  const x = (await read(head, 0, vectorsOf(head, tokens, layers))).map(joined);
  const attended = x.map(a => average(x, softmaxOf(x.map(b => a.reduce((sum, value, i) => sum + value * b[i], 0)))));
  const y = (await read(head, 2, x.map((a, t) => joined([a, a.map((v, i) => v - attended[t][i]), a.map((v, i) => v * attended[t][i])])))).map(joined);
  const weights = softmaxOf(y.map(row => dense(row, head, "attention")[0]));
  const over = choose => y[0].map((_, i) => choose(...y.map(row => row[i])));
  const pooled = joined([over(Math.max), over(Math.min), average(y, y.map(() => 1 / y.length)), average(y, weights)]);
  const pieces = dense(pooled, head, "maxout");
  const largest = Float32Array.from({length: units}, (_, i) => {
    let most = -Infinity;
    for (let at = i; at < pieces.length; at += units) most = Math.max(most, pieces[at]);
    return most;
  });
  const ngrams = ngramScores(tokens, head);
  const p = softmaxOf([...dense(largest, head, "decision")].map((x, i) => x + ngrams[i]));
  return labels.map((name, i) => [name, p[i]]).sort((a, b) => b[1] - a[1]);
}

// elmo_keras/heads/classifier/ngrams.py.
function ngramScores(tokens, {ngrams, ngramsScales: scales, labels}) {
  const total = labels.map(() => 0), n = ngrams.length / labels.length;
  const characters = Array.from(` ${tokens.join(" ")} `, character => character.codePointAt(0));
  let count = 0, hashed = characters.map(() => 2166136261);
  for (let more = 0; n && more < Math.min(5, characters.length); more++) {
    hashed = characters.slice(more).map((character, i) => Math.imul(hashed[i] ^ character, 16777619));
    for (const hash of hashed) {
      const row = ((hash ^ hash >>> 15) >>> 0) % n;
      total.forEach((_, k) => { total[k] += ngrams[row * labels.length + k] * scales[k]; });
      count++;
    }
  }
  return total.map(sum => sum / Math.sqrt(count || 1));
}

// The first and the last token of the best answer, and its probability among all spans:
// elmo_keras/heads/answering/light.py.
async function answer({question, tokens}) {
  const head = heads.find(({finds}) => finds === "answers");
  const encoded = async words => (await read(head, 0, vectorsOf(head, words, await encode({tokens: words})))).map(joined);
  const h = await encoded(tokens), q = await encoded(question), scores = attention(head, "attention", h, q);
  const highest = average(h, softmaxOf(scores.map(row => Math.max(...row))));
  const x = h.map((a, t) => {
    const c = average(q, softmaxOf(scores[t]));
    return relu(dense(joined([a, c, times(a, c), times(a, highest)]), head, "attended"));
  });
  const y = (await read(head, 2, x)).map(joined), own = attention(head, "self_attention", y, y);
  const z = x.map((a, t) => {
    const weights = softmaxOf(own[t].map((score, i) => i === t ? -2e9 : score));
    weights[t] = 0; // also where there is no other token
    const c = average(y, weights), more = relu(dense(joined([y[t], c, times(y[t], c)]), head, "self_attended"));
    return a.map((value, i) => value + more[i]);
  });
  const m = (await read(head, 4, z)).map(joined);
  const n = (await read(head, 6, z.map((a, t) => joined([a, m[t]])))).map(joined);
  const [starts, ends] = [[m, "start_scores"], [n, "end_scores"]].map(
    ([rows, name]) => normalised(rows.map(row => dense(row, head, name)[0])));
  const best = {score: -Infinity};
  starts.forEach((start, first) => ends.slice(first, first + head.longest).forEach((end, more) => {
    if (start + end > best.score) Object.assign(best, {first, last: first + more, score: start + end});
  }));
  return {...best, score: Math.exp(best.score)};
}

const relu = x => x.map(value => Math.max(0, value));
const times = (a, b) => a.map((value, i) => value * b[i]);
const product = (a, b) => a.reduce((sum, value, i) => sum + value * b[i], 0);

function attention(head, name, texts, others) {
  const [u, v, w] = ["u", "v", "w"].map(part => head[`${name}_${part}`]), of = others.map(b => product(b, v));
  return texts.map(a => {
    const alone = product(a, u), weighted = times(a, w);
    return others.map((b, j) => alone + of[j] + product(weighted, b));
  });
}

const softmaxOf = logits => normalised(logits).map(Math.exp);
const average = (rows, weights) => rows[0].map((_, i) => rows.reduce((sum, row, t) => sum + weights[t] * row[i], 0));

function dense(x, head, name) {
  const [kernel, scales, bias] = [head[name], head[`${name}Scales`], head[`${name}Bias`]];
  return bias.map((shift, k) => {
    let sum = 0;
    for (let i = 0; i < x.length; i++) sum += x[i] * kernel[i * bias.length + k];
    return sum * scales[k] + shift;
  });
}

// Viterbi's algorithm.
function bestPath(scores, {transitions, first, last}) {
  const n = first.length, pointers = [];
  let ends = scores[0].map((x, k) => x + first[k]);
  for (const row of scores.slice(1)) {
    const before = row.map((_, k) => best(ends.map((x, j) => x + transitions[j * n + k])));
    pointers.push(before);
    ends = row.map((x, k) => x + ends[before[k]] + transitions[before[k] * n + k]);
  }
  const path = [best(ends.map((x, k) => x + last[k]))];
  for (const before of pointers.reverse()) path.unshift(before[path[0]]);
  return path;
}

const best = x => x.indexOf(Math.max(...x));

const jobs = {load, encode, loadWords, substitutes, loadHeads, label, answer};
let last = Promise.resolve();
onmessage = ({data: {id, job, ...rest}}) => {
  last = last.then(async () => {
    const report = bytes => postMessage({id, bytes});
    try {
      postMessage({id, result: await jobs[job](rest, report)});
    } catch (error) {
      postMessage({id, error: error?.message ?? String(error)});
    }
  });
};
