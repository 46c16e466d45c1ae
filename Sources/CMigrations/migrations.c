#include "migrations.h"
