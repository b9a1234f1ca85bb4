// ONNX Runtime's side of compare.py: for each line of its input, a model with one input, the least number
// of milliseconds that a run takes, 0 if it does not run.
//   node onnxruntime.js FOLDER THREADS    FOLDER/node_modules holds onnxruntime-node
'use strict';
const path = require('path'), readline = require('readline');
const [folder, threads] = process.argv.slice(-2);
const ort = require(path.join(path.resolve(folder), 'node_modules', 'onnxruntime-node'));

async function measure(file) {
  const session = await ort.InferenceSession.create(file, { intraOpNumThreads: Number(threads), logSeverityLevel: 3 });
  const { name, shape } = session.inputMetadata[0];
  const x = new Float32Array(shape.reduce((a, b) => a * b, 1)).map(() => 4 * Math.random() - 2);
  const feeds = { [name]: new ort.Tensor('float32', x, shape) };
  let least = Infinity;
  for (let start = performance.now(), n = 0; n < 3 || performance.now() - start < 40; n++) {
    const t = performance.now();
    await session.run(feeds);
    least = Math.min(least, performance.now() - t);
  }
  await session.release();
  return least;
}

(async () => {
  for await (const file of readline.createInterface({ input: process.stdin })) {
    console.log(await measure(file).catch(() => 0));
  }
})();
