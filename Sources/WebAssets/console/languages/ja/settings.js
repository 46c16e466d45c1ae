// See Words in ../../../README.md, and the files of German for the rules.

export default {
};
