// Names for visitors who gave none: birds, by the visitor’s id, so that every operator sees the
// same name at any time. Two visitors may share one.

const BIRDS = [
  'Arctic Tern', 'Barn Owl', 'Barn Swallow', 'Bluethroat', 'Bullfinch', 'Chaffinch', 'Cirl Bunting',
  'Collared Dove', 'Common Crane', 'Common Eider', 'Common Tern', 'Corn Bunting', 'Crested Lark',
  'Dunlin', 'Eagle Owl', 'Fieldfare', 'Firecrest', 'Garden Warbler', 'Garganey', 'Glossy Ibis',
  'Goldcrest', 'Golden Eagle', 'Golden Oriole', 'Golden Plover', 'Goldeneye', 'Goldfinch',
  'Goshawk', 'Great Egret', 'Green Sandpiper', 'Greenfinch', 'Grey Heron', 'Grey Partridge',
  'Grey Plover', 'Grey Wagtail', 'Hawfinch', 'Hen Harrier', 'Hoopoe', 'House Martin',
  'House Sparrow', 'Icterine Warbler', 'Kestrel', 'Kingfisher', 'Lapwing', 'Lesser Kestrel',
  'Linnet', 'Little Egret', 'Little Owl', 'Little Tern', 'Marsh Harrier', 'Meadow Pipit', 'Merlin',
  'Mistle Thrush', 'Night Heron', 'Nightingale', 'Nuthatch', 'Ortolan Bunting', 'Osprey',
  'Oystercatcher', 'Peregrine', 'Pied Avocet', 'Pied Flycatcher', 'Purple Heron',
  'Purple Sandpiper', 'Red Kite', 'Red Knot', 'Redshank', 'Redstart', 'Redwing', 'Reed Bunting',
  'Reed Warbler', 'Ring Ouzel', 'Ringed Plover', 'Robin', 'Rock Pipit', 'Rook', 'Rosefinch',
  'Sand Martin', 'Sanderling', 'Sedge Warbler', 'Serin', 'Short-eared Owl', 'Siskin', 'Skylark',
  'Snow Bunting', 'Snow Finch', 'Snowy Owl', 'Song Thrush', 'Spoonbill', 'Starling', 'Stock Dove',
  'Stone Curlew', 'Stonechat', 'Tawny Owl', 'Tawny Pipit', 'Tree Pipit', 'Tree Sparrow',
  'Turnstone', 'Wallcreeper', 'Water Rail', 'Waxwing', 'Wheatear', 'Whimbrel', 'Whinchat',
  'Whooper Swan', 'Willow Warbler', 'Wood Sandpiper', 'Wood Warbler', 'Woodcock', 'Woodlark',
  'Wren', 'Wryneck', 'Yellow Wagtail', 'Yellowhammer',
];

/** @param {string} id of a visitor; its last digits are random */
export const generatedName = (id) => BIRDS[Number.parseInt(id.slice(-6), 16) % BIRDS.length];
