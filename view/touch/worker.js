'use strict';
// Runs beside the page: asks the compiled library, one question after the other.
const library = multitree_module();
onmessage = async ({data}) => {
  try {
    const module = await library;
    postMessage({answer: module.cwrap('multitree_touch', 'string', ['string'])(data)});
  } catch (error) {
    postMessage({failed: String(error)});
  }
};
