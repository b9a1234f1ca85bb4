// The first result of ONNX Runtime: load a model, run it once on zeros, end.
//   node first.js FOLDER MODEL THREADS    FOLDER/node_modules holds onnxruntime-node
'use strict';
const path = require('path');
const [folder, model, threads] = process.argv.slice(-3);
const ort = require(path.join(path.resolve(folder), 'node_modules', 'onnxruntime-node'));
(async () => {
  const session = await ort.InferenceSession.create(model, { intraOpNumThreads: Number(threads), logSeverityLevel: 3 });
  const feeds = {};
  for (const { name, type, shape } of session.inputMetadata) {
    if (type !== 'float32') throw new Error(`input ${name} is ${type}: only float32 is fed`);
    const dims = shape.map(d => typeof d === 'number' && d > 0 ? d : 1);
    feeds[name] = new ort.Tensor(type, new Float32Array(dims.reduce((a, b) => a * b, 1)), dims);
  }
  await session.run(feeds);
})();
