// ONNX Runtime's side of compare.py; its lines are those of main.go.
//   node onnxruntime.js FOLDER    FOLDER/node_modules holds onnxruntime-node
'use strict';
const fs = require('fs'), path = require('path'), readline = require('readline');
const ort = require(path.join(path.resolve(process.argv[2]), 'node_modules', 'onnxruntime-node'));
const arrays = { float32: Float32Array, float64: Float64Array, uint8: Uint8Array, int8: Int8Array, float16: Uint16Array, int32: Int32Array, int64: BigInt64Array, bool: Uint8Array };

async function run(words) {
  const session = await ort.InferenceSession.create(words[0], { graphOptimizationLevel: 'disabled', logSeverityLevel: 3 });
  const feeds = {};
  session.inputMetadata.forEach(({ name, type, shape }, i) => {
    const b = fs.readFileSync(words[1 + i]);
    feeds[name] = new ort.Tensor(type, new arrays[type](b.buffer.slice(b.byteOffset, b.byteOffset + b.length)), shape);
  });
  const out = (await session.run(feeds))[session.outputNames[0]];
  const d = out.data;
  fs.writeFileSync(words[words.length - 1], Buffer.from(d.buffer, d.byteOffset, d.byteLength));
  await session.release();
}

(async () => {
  for await (const line of readline.createInterface({ input: process.stdin })) {
    console.log(await run(line.split(' ')).then(() => 'ok', (e) => String(e.message).replace(/\n/g, ' ')));
  }
})();
