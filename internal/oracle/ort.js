// Serves ONNX Runtime to a Go test: one JSON request a line on stdin, one JSON answer a line on stdout.
//
//   node -e "$(cat ort.js)" -- FOLDER      FOLDER/node_modules holds onnxruntime-node
//
// A request is {path | model (base64), optimize, inputs: {name: tensor}}, an answer {outputs: {name: tensor}} or
// {error}. A tensor is {dtype, shape, data (base64, little-endian)} or {dtype: "string", shape, strings}.
// The first line out is {ready: version} or {error}.
'use strict';
const path = require('path');

const arrays = {
  float32: Float32Array, float64: Float64Array, bool: Uint8Array,
  int8: Int8Array, int16: Int16Array, int32: Int32Array, int64: BigInt64Array,
  uint8: Uint8Array, uint16: Uint16Array, uint32: Uint32Array, uint64: BigUint64Array,
  float16: globalThis.Float16Array || Uint16Array,
};
const say = answer => process.stdout.write(JSON.stringify(answer) + '\n');

let ort;
try {
  const home = path.join(path.resolve(process.argv.at(-1)), 'node_modules', 'onnxruntime-node');
  ort = require(home);
  say({ ready: require(path.join(home, 'package.json')).version });
} catch (e) {
  say({ error: String(e.message || e) });
  process.exit(1);
}

function decode(name, t) {
  if (t.dtype === 'string') return new ort.Tensor('string', t.strings || [], t.shape);
  const type = arrays[t.dtype];
  if (!type) throw new Error(`input ${name}: element type ${t.dtype} is not offered by onnxruntime-node`);
  const bytes = Uint8Array.from(Buffer.from(t.data || '', 'base64')); // a copy: aligned, of its own buffer
  return new ort.Tensor(t.dtype, new type(bytes.buffer), t.shape);
}

function encode(name, t) {
  if (!t || !t.dims) throw new Error(`output ${name} is not a tensor`);
  if (t.type === 'string') return { dtype: 'string', shape: [...t.dims], strings: [...t.data] };
  const d = t.data;
  return { dtype: t.type, shape: [...t.dims], data: Buffer.from(d.buffer, d.byteOffset, d.byteLength).toString('base64') };
}

let kept = null; // the session of the last model that was sent rather than named: training runs one many times

async function sessionOf(request) {
  const key = request.model && `${request.optimize} ${request.model}`;
  if (key && kept && kept.key === key) return kept.session;
  if (kept) await kept.session.release();
  kept = null;
  const model = request.path || Uint8Array.from(Buffer.from(request.model, 'base64'));
  const session = await ort.InferenceSession.create(model, {
    intraOpNumThreads: 1, interOpNumThreads: 1, executionMode: 'sequential', logSeverityLevel: 3,
    graphOptimizationLevel: request.optimize ? 'all' : 'disabled',
  });
  if (key) kept = { key, session };
  return session;
}

async function answer(request) {
  if (request.save) { // the model as the runtime's graph optimizer leaves it
    const session = await ort.InferenceSession.create(request.path, {
      logSeverityLevel: 4, graphOptimizationLevel: request.level, optimizedModelFilePath: request.save });
    await session.release();
    return { outputs: {} };
  }
  const session = await sessionOf(request);
  try {
    const feeds = {}, outputs = {};
    for (const [name, t] of Object.entries(request.inputs || {})) feeds[name] = decode(name, t);
    const got = await session.run(feeds);
    for (const name of session.outputNames) outputs[name] = encode(name, got[name]);
    return { outputs };
  } finally {
    if (!kept || kept.session !== session) await session.release();
  }
}

async function serve() {
  let parts = [];
  for await (let chunk of process.stdin) {
    for (let at; (at = chunk.indexOf(10)) >= 0; chunk = chunk.subarray(at + 1)) {
      const line = Buffer.concat([...parts, chunk.subarray(0, at)]).toString();
      parts = [];
      try { say(await answer(JSON.parse(line))); } catch (e) { say({ error: String(e.message || e) }); }
    }
    parts.push(chunk);
  }
}
serve();
